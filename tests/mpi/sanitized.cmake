# Programs that have the add-on's objects in them, instead of preloading it: AddressSanitizer's
# runtime is then the first library, and sees both. Its allocator stays, so the shared heap's malloc
# is left out. The programs lie beside the software device, as the add-on does.
if(NOT WEFT_SANITIZE MATCHES address OR NOT "openmpi" IN_LIST WEFT_MPIS)
  return()
endif()

# weft_sanitized_test(NAME PROGRAM [LEAKS] ARGUMENTS... CALLS ARGUMENTS...): one run by launch.py of
# the program of PROGRAM.c with the add-on. Leaks are looked for where LEAKS says so: that takes
# whole stacks of every allocation, which Open MPI's libraries give only to the slow unwinder.
function(weft_sanitized_test name program)
  cmake_parse_arguments(RUN "LEAKS" "" "CALLS" ${ARGN})
  set(target mpi_${program}_with_addon)
  if(NOT TARGET ${target})
    add_executable(${target} ${program}.c keep_modules.c $<TARGET_OBJECTS:weft_mpi_pmpi_openmpi>)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON LINKER_LANGUAGE CXX)
    target_link_libraries(${target} PRIVATE weft_flags weft_mpi_requests_openmpi weft_comm
      ${CMAKE_DL_LIBS})
    add_dependencies(${target} weft_verbs_soft)
  endif()
  set(asan detect_leaks=0)
  if(RUN_LEAKS)
    set(asan fast_unwind_on_malloc=0)
  endif()
  set(leaks ${CMAKE_CURRENT_SOURCE_DIR}/openmpi_leaks.supp)
  add_test(NAME mpi.openmpi.with_addon.${name}
    COMMAND ${launch} --launcher ${WEFT_MPIRUN_openmpi} --linked --env ASAN_OPTIONS=${asan}
      --env LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0
      --env UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ${RUN_UNPARSED_ARGUMENTS}
      -- $<TARGET_FILE:${target}> ${RUN_CALLS})
  set_tests_properties(mpi.openmpi.with_addon.${name} PROPERTIES LABELS mpi TIMEOUT 200
    RUN_SERIAL ON)
endfunction()

set(nodes --device --env WEFT_NODES=2)
weft_sanitized_test(collectives random_collectives --ranks 4 --all-taken CALLS 60 4)
weft_sanitized_test(collectives.nodes random_collectives LEAKS --ranks 4 --all-taken ${nodes}
  CALLS 60 4)
weft_sanitized_test(alltoallv.nodes random_alltoallv --ranks 4 ${nodes} CALLS 30 4)
weft_sanitized_test(semantics semantics --ranks 3)
weft_sanitized_test(threads.nodes threads --ranks 4 ${nodes} CALLS 10)
weft_sanitized_test(nonblocking nonblocking --ranks 3 CALLS 10 1 mismatch)
weft_sanitized_test(nonblocking.nodes nonblocking --ranks 4 ${nodes} CALLS 10 2)
weft_sanitized_test(persistent.nodes persistent --ranks 3 ${nodes} CALLS 10 3)
weft_sanitized_test(nonblocking_threads nonblocking_threads --ranks 3 ${nodes} CALLS 10)
