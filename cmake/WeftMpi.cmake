# The MPIs that programs may run on. For each one found: an imported target weft_openmpi_api or
# weft_mpich_api with its headers and its C library, as its own compiler wrapper names them (the
# two lie side by side on Debian, which find_package(MPI) cannot tell apart), and in WEFT_MPIS its
# name.

# weft_find_mpi(NAME COMPILE_QUERY LINK_QUERY): asks mpicc.NAME.
function(weft_find_mpi name compile_query link_query)
  find_program(WEFT_MPICC_${name} mpicc.${name})
  find_program(WEFT_MPIRUN_${name} mpirun.${name})
  mark_as_advanced(WEFT_MPICC_${name} WEFT_MPIRUN_${name})
  if(NOT WEFT_MPICC_${name} OR NOT WEFT_MPIRUN_${name})
    message(STATUS "MPI ${name}: no mpicc.${name} or mpirun.${name}, its add-on is left out")
    return()
  endif()
  foreach(kind compile link)
    execute_process(COMMAND ${WEFT_MPICC_${name}} ${${kind}_query} OUTPUT_VARIABLE ${kind}_line
      RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed)
      message(STATUS "MPI ${name}: ${WEFT_MPICC_${name}} ${${kind}_query} fails, "
        "its add-on is left out")
      return()
    endif()
    separate_arguments(${kind}_words UNIX_COMMAND "${${kind}_line}")
  endforeach()
  set(includes ${compile_words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  set(libraries ${link_words})
  list(FILTER libraries INCLUDE REGEX "^-[lL]")

  add_library(weft_${name}_api INTERFACE IMPORTED GLOBAL)
  target_include_directories(weft_${name}_api SYSTEM INTERFACE ${includes})
  target_link_libraries(weft_${name}_api INTERFACE ${libraries})
  # The C++ bindings that MPI dropped would bring a library of their own.
  target_compile_definitions(weft_${name}_api INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # MPICH declares statuses as an array, which MPI_STATUSES_IGNORE is not.
  target_compile_options(weft_${name}_api INTERFACE -Wno-stringop-overflow)
  set(WEFT_MPIS ${WEFT_MPIS} ${name} PARENT_SCOPE)
  message(STATUS "MPI ${name}: ${WEFT_MPICC_${name}}")
endfunction()

set(WEFT_MPIS "")
weft_find_mpi(openmpi --showme:compile --showme:link)
weft_find_mpi(mpich -show -show)
# The launcher's interface that Open MPI uses (Debian's libopenmpi-dev brings it): its header alone.
pkg_check_modules(pmix QUIET pmix)
if(TARGET weft_openmpi_api AND pmix_FOUND)
  target_include_directories(weft_openmpi_api SYSTEM INTERFACE ${pmix_INCLUDEDIR})
else()
  message(STATUS "PMIx: not found, an add-on that only some ranks have will hang MPI_Init")
endif()

# weft_mpi_room(NAME DEPENDS rooms...): a room that needs mpi.h, as weft_room() makes one without:
# a static library for each MPI found, weft_mpi_host_openmpi of mpi/host. DEPENDS are rooms of
# either kind.
function(weft_mpi_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS" ${ARGN})
  string(REPLACE / _ target weft_${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp
    ${CMAKE_SOURCE_DIR}/${name}/*.hpp)
  foreach(mpi ${WEFT_MPIS})
    add_library(${target}_${mpi} STATIC ${sources})
    weft_as_needed(${target}_${mpi})
    target_link_libraries(${target}_${mpi} PUBLIC weft_flags weft_${mpi}_api)
    weft_datapath(${target}_${mpi})
    foreach(dependency ${ROOM_DEPENDS})
      string(REPLACE / _ room weft_${dependency})
      if(TARGET ${room}_${mpi})
        set(room ${room}_${mpi})
      endif()
      target_link_libraries(${target}_${mpi} PUBLIC ${room})
    endforeach()
  endforeach()
endfunction()
