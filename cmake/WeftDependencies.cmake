find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(fftw3 REQUIRED IMPORTED_TARGET fftw3)

# Header-only, so that a preloaded add-on brings no shared library of ours into a program.
add_library(weft_fmt INTERFACE)
target_link_libraries(weft_fmt INTERFACE fmt::fmt-header-only)
