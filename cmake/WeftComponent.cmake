# The component for Open MPI's own framework of collectives: mca_coll_weft.so, by which programs
# have weft without LD_PRELOAD. It needs Open MPI's internal headers, which Debian's libopenmpi-dev
# has (--with-devel-headers), and PMIx's. WEFT_COMPONENT says whether it is built.
include(CheckCSourceCompiles)
set(WEFT_COMPONENT OFF)
if(WEFT_SANITIZE OR NOT TARGET weft_openmpi_api)
  return()
endif()
if(NOT pmix_FOUND)
  message(STATUS "Component for Open MPI: no PMIx headers, it is left out")
  return()
endif()
get_target_property(includes weft_openmpi_api INTERFACE_INCLUDE_DIRECTORIES)
set(CMAKE_REQUIRED_INCLUDES ${includes})
set(CMAKE_REQUIRED_QUIET ON)
check_c_source_compiles("
#include \"ompi_config.h\"
#include \"ompi/communicator/communicator.h\"
#include \"ompi/mca/coll/coll.h\"
#include \"ompi/mca/hook/base/base.h\"
#define VERSION (100 * OMPI_MAJOR_VERSION + OMPI_MINOR_VERSION)
#if VERSION < 401 || OMPI_MAJOR_VERSION > 5
#error \"another interface\"
#endif
int main(void) { return 0; }" WEFT_OPENMPI_INTERNAL_HEADERS)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_QUIET)
if(NOT WEFT_OPENMPI_INTERNAL_HEADERS)
  message(STATUS "Component for Open MPI: no internal headers of Open MPI 4.1 or 5.0 "
    "(a build with --with-devel-headers has them), it is left out")
  return()
endif()
set(WEFT_COMPONENT ON)

# Its name and what it shows are Open MPI's rules.
set(exports ${CMAKE_SOURCE_DIR}/mpi/ompi_coll/exports.map)
file(GLOB sources_in_c CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/mpi/ompi_coll/*.c)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/mpi/ompi_coll/*.cpp)
# Apart from those in C, as headers are precompiled for all of a library's languages.
add_library(weft_mpi_ompi_coll OBJECT ${sources})
target_link_libraries(weft_mpi_ompi_coll PRIVATE weft_flags weft_mpi_requests_openmpi)
weft_datapath(weft_mpi_ompi_coll)
add_library(mca_coll_weft MODULE ${sources_in_c} $<TARGET_OBJECTS:weft_mpi_ompi_coll>)
set_target_properties(mca_coll_weft PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
  LINK_DEPENDS ${exports} C_STANDARD 11 C_EXTENSIONS ON)
target_link_libraries(mca_coll_weft PRIVATE weft_flags weft_mpi_requests_openmpi weft_comm open-pal
  ${CMAKE_DL_LIBS})
# Threads and handlers of weft may outlive MPI_Finalize, where Open MPI closes its components: the
# library stays loaded.
target_link_options(mca_coll_weft PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL
  -Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete)
weft_own_runtime(mca_coll_weft)
