# The add-on to preload, one for each MPI found: libweft-openmpi.so, libweft-mpich.so.

# malloc itself: not to be taken for calls of what it is made of.
target_compile_options(weft_mpi_allocator PRIVATE -fno-builtin)
set_target_properties(weft_mpi_allocator PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
# A sanitizer's runtime has to be the first library of a program: nothing to preload then.
if(WEFT_SANITIZE)
  return()
endif()
set(exports ${CMAKE_SOURCE_DIR}/mpi/pmpi/exports.map)
foreach(mpi ${WEFT_MPIS})
  # As objects, what is seen from outside: symbols of archives are hidden.
  add_library(weft-${mpi} SHARED $<TARGET_OBJECTS:weft_mpi_pmpi_${mpi}>
    $<TARGET_OBJECTS:weft_mpi_allocator>)
  set_target_properties(weft-${mpi} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${exports})
  # The MPI library is a dependency of the add-on, so that the host's functions and handles are
  # found also where the program itself loads its MPI late and privately (Python does).
  target_link_libraries(weft-${mpi} PRIVATE weft_mpi_requests_${mpi} weft_comm ${CMAKE_DL_LIBS})
  target_link_options(weft-${mpi} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL
    -Wl,-z,defs -Wl,-z,now)
  weft_own_runtime(weft-${mpi})
endforeach()
