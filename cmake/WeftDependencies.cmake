find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(fftw3 REQUIRED IMPORTED_TARGET fftw3)
# The switch of fibers, two functions in assembler: static, so that an add-on needs no library more.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost REQUIRED COMPONENTS context)
# Highway: its headers alone (kernels/simd_kernels.hpp).
pkg_check_modules(hwy REQUIRED libhwy)
# HMAC: static, so that libraries of ours need none more.
pkg_check_modules(sodium REQUIRED libsodium)
find_library(WEFT_SODIUM libsodium.a HINTS ${sodium_LIBDIR} REQUIRED)
add_library(weft_sodium INTERFACE)
target_include_directories(weft_sodium SYSTEM INTERFACE ${sodium_INCLUDE_DIRS})
target_link_libraries(weft_sodium INTERFACE ${WEFT_SODIUM})

# Its compiled part is in base/fmt_library.cpp: a preloaded add-on brings no shared library of ours
# into a program.
add_library(weft_fmt INTERFACE)
get_target_property(fmt_includes fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(weft_fmt SYSTEM INTERFACE ${fmt_includes})

add_library(weft_hwy INTERFACE)
target_include_directories(weft_hwy SYSTEM INTERFACE ${hwy_INCLUDE_DIRS})
