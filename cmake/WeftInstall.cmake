# What `cmake --install` puts where, below the prefix. The layout is fixed: the tool and the
# libraries find each other by it (base/installation.hpp), so that the whole can be moved.
#
#   bin/weft                         the tool
#   lib/libweft.so                   the C and C++ API
#   lib/weft/libweft-<mpi>.so        the add-ons to preload
#   lib/weft/libweft-job-<mpi>.so    what the tool opens under that MPI's mpirun
#   lib/weft/libweft-guide.so        what `weft exec` preloads into shells and scripts
#   lib/weft/libweft-verbs-soft.so   the software device
#   include/weft/                    headers
#   include/weft/soft/extensions.h   what programs may ask of the software device beyond verbs
#   share/weft/nic_profiles/          the catalogue of adapters, to read; the tool holds its own
#   lib/pkgconfig, lib/cmake/weft    pkg-config and find_package(weft)
include(CMakePackageConfigHelpers)

install(TARGETS weft RUNTIME DESTINATION bin)
install(TARGETS weft_verbs_soft weft-guide LIBRARY DESTINATION lib/weft)
foreach(mpi ${WEFT_MPIS})
  install(TARGETS weft-${mpi} weft-job-${mpi} LIBRARY DESTINATION lib/weft)
endforeach()
install(TARGETS weft_api EXPORT weft-targets LIBRARY DESTINATION lib INCLUDES DESTINATION include)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/comm/include/weft DESTINATION include)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/nic_profiles/catalogue/
  DESTINATION share/weft/nic_profiles FILES_MATCHING PATTERN *.json)
# weft.hpp includes them; a quoted include looks beside it first.
install(FILES ${CMAKE_SOURCE_DIR}/base/error_types.hpp DESTINATION include/weft/base)
install(FILES ${CMAKE_SOURCE_DIR}/kernels/operation.hpp DESTINATION include/weft/kernels)

install(FILES ${CMAKE_SOURCE_DIR}/verbs/soft/abi/extensions.h DESTINATION include/weft/soft)

install(EXPORT weft-targets NAMESPACE weft:: DESTINATION lib/cmake/weft FILE weft-config.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config-version.cmake DESTINATION lib/cmake/weft)
configure_file(${CMAKE_SOURCE_DIR}/cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION lib/pkgconfig)
