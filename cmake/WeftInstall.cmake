# What `cmake --install` puts where, below the prefix. The layout is fixed: the tool and the
# libraries find each other by it (base/installation.hpp), so that the whole can be moved.
#
#   bin/weft                         the tool
#   lib/libweft.so                   the C and C++ API
#   lib/weft/libweft-<mpi>.so        the add-ons to preload
#   lib/weft/mca_coll_weft.so        the component for Open MPI
#   lib/weft/libweft-job-<mpi>.so    what the tool opens under that MPI's mpirun
#   lib/weft/libweft-guide.so        what `weft exec` preloads into shells and scripts
#   lib/weft/libweft-verbs-soft.so   the software device
#   include/weft/                    headers
#   include/weft/soft/extensions.h   what programs may ask of the software device beyond verbs
#   share/weft/nic_profiles/         the catalogue of adapters, to read; the tool holds its own
#   share/weft/report.schema.json    what WEFT_REPORT=FILE.json writes
#   share/weft/stuck.schema.json     what weft stuck --json prints
#   share/man/man1/                  manual pages
#   share/bash-completion, zsh, fish completions, where Debian's shells look for them
#   lib/pkgconfig, lib/cmake/weft    pkg-config and find_package(weft)
#
# Components are packages (cmake/WeftPackages.cmake).
include(CMakePackageConfigHelpers)

install(TARGETS weft RUNTIME DESTINATION bin COMPONENT weft)
install(TARGETS weft-guide LIBRARY DESTINATION lib/weft COMPONENT weft)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/nic_profiles/catalogue/ COMPONENT weft
  DESTINATION share/weft/nic_profiles FILES_MATCHING PATTERN *.json)
install(FILES ${CMAKE_SOURCE_DIR}/docs/report.schema.json
  ${CMAKE_SOURCE_DIR}/docs/stuck.schema.json DESTINATION share/weft COMPONENT weft)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION share/man/man1 COMPONENT weft)
set(completion ${CMAKE_SOURCE_DIR}/cli/completion)
install(FILES ${completion}/weft.bash DESTINATION share/bash-completion/completions
  RENAME weft COMPONENT weft)
install(FILES ${completion}/_weft DESTINATION share/zsh/vendor-completions COMPONENT weft)
install(FILES ${completion}/weft.fish DESTINATION share/fish/vendor_completions.d COMPONENT weft)

install(TARGETS weft_verbs_soft LIBRARY DESTINATION lib/weft COMPONENT soft)
foreach(mpi ${WEFT_MPIS})
  install(TARGETS weft-${mpi} weft-job-${mpi} LIBRARY DESTINATION lib/weft COMPONENT ${mpi})
endforeach()
if(WEFT_COMPONENT)
  install(TARGETS mca_coll_weft LIBRARY DESTINATION lib/weft COMPONENT openmpi)
endif()

install(TARGETS weft_api EXPORT weft-targets LIBRARY DESTINATION lib COMPONENT library
  NAMELINK_COMPONENT headers INCLUDES DESTINATION include)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/comm/include/weft DESTINATION include COMPONENT headers)
# The headers include them; a quoted include looks beside it first.
install(FILES ${CMAKE_SOURCE_DIR}/base/error_types.hpp DESTINATION include/weft/base
  COMPONENT headers)
install(FILES ${CMAKE_SOURCE_DIR}/kernels/operation.hpp DESTINATION include/weft/kernels
  COMPONENT headers)
install(FILES ${CMAKE_SOURCE_DIR}/verbs/soft/abi/extensions.h DESTINATION include/weft/soft
  COMPONENT headers)

install(EXPORT weft-targets NAMESPACE weft:: DESTINATION lib/cmake/weft FILE weft-config.cmake
  COMPONENT headers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config-version.cmake DESTINATION lib/cmake/weft
  COMPONENT headers)
configure_file(${CMAKE_SOURCE_DIR}/cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION lib/pkgconfig COMPONENT headers)
