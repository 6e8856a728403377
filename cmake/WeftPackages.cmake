# Debian packages, by `cmake --build build/release --target packages`: build/release/packages/*.deb,
# one for each component of cmake/WeftInstall.cmake. Dependencies on libraries are found by
# dpkg-shlibdeps (package dpkg-dev).
set(library_package libweft${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The weft authors <weft@example.org>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL weft library headers soft ${WEFT_MPIS})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# No file that others could change, whatever the umask of the builder.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(same "(= ${PROJECT_VERSION}-1)")

# weft_package(COMPONENT NAME SECTION SUMMARY TEXT [DEPENDS text] [RECOMMENDS text]
#              [SUGGESTS text]): TEXT are lines.
function(weft_package component name section summary text)
  cmake_parse_arguments(PACKAGE "" "DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} upper)
  set(prefix CPACK_DEBIAN_${upper})
  set(${prefix}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(${prefix}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  foreach(kind DEPENDS RECOMMENDS SUGGESTS)
    if(PACKAGE_${kind})
      set(${prefix}_PACKAGE_${kind} "${PACKAGE_${kind}}" PARENT_SCOPE)
    endif()
  endforeach()
  # What every package of Debian has: who may copy it, and what has changed.
  set(folder ${CMAKE_BINARY_DIR}/package-texts)
  install(FILES ${CMAKE_SOURCE_DIR}/packaging/debian/copyright DESTINATION share/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${folder}/changelog.Debian.gz DESTINATION share/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

weft_package(weft weft utils "fast MPI collectives without changing the program: the tool"
  "weft makes the collective operations of MPI programs faster on clusters of
many-core machines joined by InfiniBand or RoCE. It is loaded in front of the
program's MPI library; the program stays as it is.
.
This package has the command weft: it runs programs over weft, says what
holds weft back, measures adapters, and draws, proves and simulates
algorithms."
  DEPENDS "weft-soft ${same}"
  RECOMMENDS "weft-openmpi ${same} | weft-mpich ${same}, libibverbs1, ibverbs-providers"
  SUGGESTS "opensm, rdma-core")
weft_package(library ${library_package} libs "fast collectives over verbs and shared memory"
  "weft makes collective operations fast on clusters of many-core machines
joined by InfiniBand or RoCE.
.
This package has the shared library of its C and C++ interface."
  RECOMMENDS "weft-soft ${same}, libibverbs1, ibverbs-providers")
weft_package(headers libweft-dev libdevel
  "fast collectives over verbs and shared memory: development"
  "weft makes collective operations fast on clusters of many-core machines
joined by InfiniBand or RoCE.
.
This package has the headers of its C and C++ interface, a package for CMake
and a file for pkg-config."
  DEPENDS "${library_package} ${same}")
weft_package(soft weft-soft libs "software RDMA device"
  "A shared library with the interface of libibverbs that plays an RDMA adapter
inside one machine: for verbs programs where there is no adapter, and for
tests that need one that fails on request.")
foreach(mpi ${WEFT_MPIS})
  set(title MPICH)
  if(mpi STREQUAL "openmpi")
    set(title "Open MPI")
  endif()
  weft_package(${mpi} weft-${mpi} libs "fast MPI collectives: add-on for ${title}"
    "weft makes the collective operations of MPI programs faster on clusters of
many-core machines joined by InfiniBand or RoCE. It is loaded in front of the
program's MPI library; the program stays as it is.
.
This package has the library that is loaded in front of ${title}:
mpirun -n 8 weft exec ./program"
    DEPENDS "weft-soft ${same}" RECOMMENDS "weft ${same}, libmimalloc2.0")
endforeach()
# So that programs linked to the library depend on its package, and the linker's cache is renewed.
# CPack would do so for libraries that are opened by their paths alone, too.
set(texts ${CMAKE_BINARY_DIR}/package-texts)
set(minor ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
file(CONFIGURE OUTPUT ${texts}/shlibs
  CONTENT "libweft ${minor} ${library_package} (>= ${PROJECT_VERSION})\n" @ONLY)
file(CONFIGURE OUTPUT ${texts}/triggers CONTENT "activate-noawait ldconfig\n" @ONLY)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${texts}/shlibs ${texts}/triggers)
include(CPack)

# No date of its own: the same sources give the same package.
file(CONFIGURE OUTPUT ${texts}/changelog.Debian CONTENT
"weft (${PROJECT_VERSION}-1) unstable; urgency=medium

  * CHANGELOG.md of the sources says what has changed.

 -- The weft authors <weft@example.org>  Mon, 23 Nov 2026 00:00:00 +0000
" @ONLY)
add_custom_command(OUTPUT ${texts}/changelog.Debian.gz
  COMMAND gzip -9nfk ${texts}/changelog.Debian DEPENDS ${texts}/changelog.Debian VERBATIM)
add_custom_target(package_texts ALL DEPENDS ${texts}/changelog.Debian.gz)
add_custom_target(packages
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CPACK_PACKAGE_DIRECTORY}
  COMMAND ${CMAKE_CPACK_COMMAND} -G DEB --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
  DEPENDS product package_texts
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
