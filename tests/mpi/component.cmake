# The component for Open MPI: the programs of the other tests run over it, without LD_PRELOAD. What
# serves their calls is the same, so a part of all shapes is enough.
set(component --component $<TARGET_FILE:mca_coll_weft>)

# weft_component_test(NAME PROGRAM ARGUMENTS...): PROGRAM of mpi_PROGRAM_openmpi; behind "--" its
# arguments.
function(weft_component_test name program)
  set(options ${ARGN})
  set(words "")
  list(FIND options -- at)
  if(NOT at EQUAL -1)
    list(SUBLIST options ${at} -1 words)
    list(REMOVE_AT words 0)
    list(SUBLIST options 0 ${at} options)
  endif()
  weft_mpi_test(component.${name} openmpi ${component} ${options}
    -- $<TARGET_FILE:mpi_${program}_openmpi> ${words})
endfunction()

foreach(shape "2:1" "3:1+2" "8:1+3+4")
  string(REPLACE ":" ";" parts "${shape}")
  list(GET parts 0 ranks)
  list(GET parts 1 nodes)
  set(how --ranks ${ranks} --env WEFT_NODES=${nodes})
  if(NOT nodes STREQUAL "1")
    list(APPEND how --device)
  endif()
  weft_component_test(random.${ranks}.nodes.${nodes} random_alltoall ${how} -- 80 ${ranks})
  weft_component_test(collectives.${ranks}.nodes.${nodes} random_collectives ${how} --all-taken
    -- 120 ${ranks})
  weft_component_test(alltoallv.${ranks}.nodes.${nodes} random_alltoallv ${how} -- 80 ${ranks})
endforeach()
weft_component_test(random.sa random_alltoall --ranks 6 --device --env WEFT_NODES=2+1+3
  --env WEFT_ALLTOALL=sa -- 80 3)
weft_component_test(collectives.deterministic random_collectives --ranks 5 --device --all-taken
  --env WEFT_NODES=2+1+2 --env WEFT_DETERMINISTIC=1 -- 120 9)
weft_component_test(collectives.disabled random_collectives --ranks 3
  --env WEFT_DISABLE=reduce,scatter --not-taken reduce,scatter --passed WEFT_DISABLE -- 60 11)
# Of communicators of one rank, of those between groups and of calls without a byte it is not asked.
weft_component_test(semantics.1 semantics --ranks 1 --all-passed)
weft_component_test(semantics.3 semantics --ranks 3)
weft_component_test(semantics.nodes semantics --ranks 4 --device --env WEFT_NODES=2)
weft_component_test(semantics.pieces semantics --ranks 2 --timeout 180
  --env OMPI_MCA_btl_vader_single_copy_mechanism=none)
weft_component_test(progress.nodes progress --ranks 2 --device --env WEFT_NODES=2)
# Attribute callbacks are served, too: what belongs to a communicator goes after them.
weft_component_test(communicators communicators --ranks 3 --none-passed -- 20)
weft_component_test(communicators.nodes communicators --ranks 4 --device --env WEFT_NODES=1+2+1
  -- 40)
weft_component_test(error_classes error_classes --ranks 2 --like-plain)
weft_component_test(threads threads --ranks 3)
weft_component_test(threads.nodes threads --ranks 4 --device --env WEFT_NODES=2 -- 20)
weft_component_test(repeats repeats --ranks 4 -- 100 2)
weft_component_test(repeats.take_over repeats --ranks 2 --env WEFT_AFTER=auto -- 6 3 300)
weft_component_test(repeats.nodes repeats --ranks 3 --device --env WEFT_NODES=2 -- 20 4)
weft_component_test(neighbours.4 neighbours --ranks 4 --ran neighbours -- 25 4)
weft_component_test(neighbours.nodes neighbours --ranks 5 --ran neighbours --device
  --env WEFT_NODES=2+3 -- 25 5)
foreach(form nonblocking persistent)
  weft_component_test(neighbours.${form} neighbours_${form} --ranks 3 --ran neighbours
    --env WEFT_NODES=2+1 -- 25 6)
  set(keep "")
  if(form STREQUAL "persistent")
    set(keep keep)
  endif()
  weft_component_test(${form}.random random_collectives_${form} --ranks 3 --all-taken -- 120 21)
  weft_component_test(${form}.random.nodes random_collectives_${form} --ranks 4 --all-taken --device
    --env WEFT_NODES=1+3 -- 120 22)
  weft_component_test(${form}.2 ${form} --ranks 2 -- 40 2 ${keep})
  weft_component_test(${form}.5 ${form} --ranks 5 -- 20 3 ${keep})
  weft_component_test(${form}.nodes ${form} --ranks 4 --device --env WEFT_NODES=2 -- 20 4 ${keep})
  weft_component_test(${form}.thread ${form} --ranks 3 --device --env WEFT_NODES=1+2
    --env WEFT_PROGRESS_THREAD=1 -- 20 5 ${keep})
  weft_component_test(${form}.installed ${form} --ranks 2 --env WEFT_AFTER=auto
    --passed "first calls" -- 200 6 ${keep})
endforeach()
weft_component_test(nonblocking.mismatch nonblocking --ranks 3 -- 2 1 mismatch-of-one)
weft_component_test(nonblocking_threads nonblocking_threads --ranks 3 -- 20)
weft_component_test(nonblocking_threads.nodes nonblocking_threads --ranks 3 --device
  --env WEFT_NODES=2+1 -- 20)
weft_component_test(many_communicators many_communicators --ranks 2)
weft_component_test(free_while_away free_while_away --ranks 2 --device --env WEFT_NODES=2)
weft_component_test(free_in_progress free_in_progress --ranks 2)
weft_component_test(free_in_progress.nodes free_in_progress --ranks 2 --device --env WEFT_NODES=2)
weft_component_test(packed_memory packed_memory --ranks 3 -- measured)
weft_component_test(packed_memory.nodes packed_memory --ranks 3 --device --env WEFT_NODES=2
  -- measured)
weft_component_test(changed_settings changed_settings --ranks 3 --device --env WEFT_NODES=1+2)
weft_component_test(interrupted.nodes interrupted --ranks 3 --device --env WEFT_NODES=2)
weft_component_test(spawned spawned --ranks 2 --passed "another MPI_COMM_WORLD")
# Communicators are numbered by the host: each is taken over, however it was made.
set(rule --env WEFT_AFTER=auto --passed "first calls")
weft_component_test(take_over.few take_over --ranks 4 --env WEFT_AFTER=auto --all-passed
  --passed "first calls" -- 5)
weft_component_test(take_over.many take_over --ranks 4 ${rule} -- 100 16384)
weft_component_test(take_over.nodes take_over --ranks 4 --env WEFT_NODES=3+1 ${rule} --device
  -- 150 65536)
weft_component_test(take_over.first take_over --ranks 4 --none-passed -- 3)
foreach(end away abort "kill:100" "kill:15000")
  string(REPLACE ":" ";" words ${end})
  list(JOIN words "." name)
  weft_component_test(ends_early.${name} ends_early --ranks 4 --timeout 60 --ends-badly
    --env WEFT_NODES=2 -- ${words})
endforeach()
foreach(name fortran_mpif fortran_use_mpi fortran_use_mpi_f08 fortran_collectives)
  if(TARGET mpi_build_${name}_openmpi)
    weft_mpi_test(component.${name} openmpi --ranks 4 ${component} --device --env WEFT_NODES=2
      -- ${CMAKE_CURRENT_BINARY_DIR}/mpi_${name}_openmpi)
  endif()
endforeach()
foreach(setting WEFT_NODES=two WEFT_DISABLE=reduce,gone)
  weft_component_test(refused.${setting} random_alltoall --ranks 4 --timeout 60 --env ${setting}
    --refused ${setting} -- 20)
endforeach()

# Who has it, and who has not.
set(program random_alltoall --timeout 60)
set(words -- 20 1)
foreach(shape "4:0-1:ranks 2-3:" "4:1-3:rank 0:" "7:1,3,5:ranks 0, 2, 4, 6:")
  string(REPLACE ":" ";" parts "${shape}")
  list(GET parts 0 ranks)
  list(GET parts 1 with)
  list(GET parts 2 without)
  weft_component_test(on.${ranks}.${with} ${program} --ranks ${ranks} --inert --addon-of ${with}
    --says "not loaded by ${without}: all run plain" ${words})
endforeach()
weft_component_test(on.disabled ${program} --ranks 4 --inert --disabled-on 1 ${words})
weft_component_test(disabled ${program} --ranks 3 --inert --env WEFT_DISABLE=1
  --env WEFT_NODES=99 ${words})
weft_component_test(excluded ${program} --ranks 3 --inert --env OMPI_MCA_coll=^weft ${words})
# With the add-on to preload it does nothing: what that alone passes through shows who served.
set(addon --addon $<TARGET_FILE:weft-openmpi>)
weft_component_test(preloaded_too communicators --ranks 3 ${addon} --passed "being freed" -- 20)
weft_component_test(preloaded_on_some ${program} --ranks 4 ${addon} --addon-of 2-3 --inert
  --says "not loaded by ranks 2-3: all run plain" ${words})

# Parameters.
weft_component_test(parameter random_alltoall --ranks 4 --device --env OMPI_MCA_coll_weft_nodes=2
  --env OMPI_MCA_coll_weft_alltoall=rd -- 20 1)
weft_component_test(parameter.before_variable random_alltoall --ranks 4 --device
  --env WEFT_NODES=1 --env OMPI_MCA_coll_weft_nodes=2 -- 20 1)
weft_component_test(parameter.priority ${program} --ranks 3 --all-passed
  --env OMPI_MCA_coll_weft_priority=10 ${words})
weft_component_test(parameter.refused random_alltoall --ranks 4 --timeout 60
  --env OMPI_MCA_coll_weft_nodes=two --refused WEFT_NODES=two -- 20)
add_test(NAME mpi.openmpi.component.installed COMMAND ${Python3_EXECUTABLE}
  ${CMAKE_CURRENT_SOURCE_DIR}/component_test.py ${WEFT_MPIRUN_openmpi} $<TARGET_FILE:weft>
  $<TARGET_FILE:mca_coll_weft> $<TARGET_FILE:mpi_random_alltoall_openmpi>)
set_tests_properties(mpi.openmpi.component.installed PROPERTIES LABELS mpi TIMEOUT 300
  RUN_SERIAL ON)
add_test(NAME mpi.openmpi.component.recording COMMAND ${Python3_EXECUTABLE}
  ${CMAKE_CURRENT_SOURCE_DIR}/recording_test.py ${WEFT_MPIRUN_openmpi}
  $<TARGET_FILE:weft-openmpi> $<TARGET_FILE:mpi_report_calls_openmpi> $<TARGET_FILE:weft>
  $<TARGET_FILE:mca_coll_weft>)
set_tests_properties(mpi.openmpi.component.recording PROPERTIES LABELS mpi TIMEOUT 300
  RUN_SERIAL ON)
weft_component_test(race.lost race --ranks 2 --env WEFT_AFTER=auto --passed "was tried" -- 300)
weft_component_test(race.won race --ranks 2 --env WEFT_AFTER=auto --env WEFT_NODES=2
  --env WEFT_SOFT_FAULTS=delay:by=1ms
  --note "alltoall of 2 ranks, blocks of up to 2047 bytes: left to the host"
  --note "MPI_Neighbor_alltoall of 2 ranks: left to the host" -- 900)
