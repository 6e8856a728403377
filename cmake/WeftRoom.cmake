# Flags that every target of the project shares.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(weft_flags INTERFACE WEFT_VERSION="${PROJECT_VERSION}")
# A product and a sum stay two roundings: reductions have the same bits on every processor.
target_compile_options(weft_flags INTERFACE -ffp-contract=off)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wcast-align -Wconversion -Wno-sign-conversion
  $<$<BOOL:${WEFT_WERROR}>:-Werror>)
# Behind precompiled headers GCC 12 finds faults in libstdc++'s own strings that are none (its bugs
# 105651 and 105762).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict> $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
endif()
# GCC collects garbage first at 512 MiB, not at 128: it takes up to a sixth less time, and a quarter
# more memory, 700 MB for the largest rooms.
target_compile_options(weft_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
# In a unity build no source is the compiler's main file, as whose own it would know the unnamed
# namespaces.
if(CMAKE_UNITY_BUILD)
  target_compile_options(weft_flags INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(WEFT_SANITIZE)
  # Under instrumentation GCC 12 takes members of libstdc++'s own classes for uninitialized.
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # An index behind the end of a vector, but within its memory, is no error to a sanitizer.
  target_compile_definitions(weft_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(weft_flags INTERFACE Threads::Threads)

# weft_optimize(TARGET): as what programs spend their time in.
function(weft_optimize target)
  if(NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O3>)
  endif()
endfunction()

# weft_datapath(TARGET): the same, with the common headers precompiled.
function(weft_datapath target)
  weft_optimize(${target})
  # No macro of its own that those who share the precompiled headers lack.
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
  if(WEFT_SANITIZE)
    weft_precompile(${target} rooms ${WEFT_COMMON_HEADERS})
  else()
    weft_precompile(${target} datapath ${WEFT_COMMON_HEADERS})
  endif()
endfunction()

# weft_cold(TARGET): as what runs once or for people: compiled for a short build.
function(weft_cold target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

# weft_cold_sources(FILES...): the same for single sources of rooms that are not cold.
function(weft_cold_sources)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# weft_as_needed(TARGET): with sanitizers, which are there for tests, a library is built only where
# a test needs it.
function(weft_as_needed target)
  if(WEFT_SANITIZE)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# weft_own_runtime(TARGET): a library that is loaded into programs of others, with a C++ runtime of
# its own where the compiler has one to link: the program may bring an older one (conda does), and C
# programs need not load one, which takes 2 ms of a rank's start. Unwinding is the program's
# (libgcc_s): an unwinder of the library's own cannot go on with what another began.
include(CheckLinkerFlag)
check_linker_flag(CXX -static-libstdc++ WEFT_HAS_STATIC_RUNTIME)
function(weft_own_runtime target)
  if(WEFT_HAS_STATIC_RUNTIME)
    target_link_options(${target} PRIVATE -static-libstdc++)
  endif()
endfunction()

# weft_room(NAME [DATAPATH | COLD] [UNPRECOMPILED] DEPENDS rooms... PRIVATE libraries...
#           FOLDERS folders...): the library of the sources in the folder NAME (not of folders below
# it, but for FOLDERS): weft_base, or weft_engine_node of engine/node. Static, and position
# independent, so that an add-on to be preloaded is one self-contained shared object. DEPENDS are
# rooms by their names, or libraries. A room of the DATAPATH, where programs spend their time, is
# optimized more than the rest, a COLD one less.
function(weft_room name)
  cmake_parse_arguments(ROOM "DATAPATH;COLD;UNPRECOMPILED" "" "DEPENDS;PRIVATE;FOLDERS" ${ARGN})
  string(REPLACE / _ target weft_${name})
  set(patterns ${CMAKE_SOURCE_DIR}/${name}/*.)
  foreach(folder ${ROOM_FOLDERS})
    list(APPEND patterns ${CMAKE_SOURCE_DIR}/${name}/${folder}/*.)
  endforeach()
  list(TRANSFORM patterns APPEND cpp OUTPUT_VARIABLE source_patterns)
  list(TRANSFORM patterns APPEND hpp OUTPUT_VARIABLE header_patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${source_patterns})
  file(GLOB headers CONFIGURE_DEPENDS ${header_patterns})
  add_library(${target} STATIC ${sources} ${headers})
  weft_as_needed(${target})
  set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS ${name})
  target_link_libraries(${target} PUBLIC weft_flags PRIVATE ${ROOM_PRIVATE})
  if(ROOM_DATAPATH AND ROOM_UNPRECOMPILED)
    weft_optimize(${target})
  elseif(ROOM_DATAPATH)
    weft_datapath(${target})
  else()
    weft_precompile(${target} rooms ${WEFT_COMMON_HEADERS})
  endif()
  if(ROOM_COLD)
    weft_cold(${target})
  endif()
  foreach(dependency ${ROOM_DEPENDS})
    string(REPLACE / _ room weft_${dependency})
    if(TARGET ${room})
      target_link_libraries(${target} PUBLIC ${room})
    else()
      target_link_libraries(${target} PUBLIC ${dependency})
    endif()
  endforeach()
endfunction()

# weft_rooms(NAME rooms...): weft_NAME for the library of a folder's own sources, if it has some,
# and those of the rooms in it.
function(weft_rooms name)
  add_library(weft_all_${name} INTERFACE)
  foreach(room ${ARGN})
    string(REPLACE / _ target weft_${name}/${room})
    target_link_libraries(weft_all_${name} INTERFACE ${target})
  endforeach()
  if(TARGET weft_${name})
    target_link_libraries(weft_all_${name} INTERFACE weft_${name})
  else()
    add_library(weft_${name} ALIAS weft_all_${name})
  endif()
endfunction()

# weft_rooms_link_alone(TARGET LIST): for each room declared so far a shared object of its whole
# library, linked with the rooms below it and nothing else. That fails where the room uses what a
# room above it defines. TARGET builds them all; LIST is written with a line "ROOM LIBRARY" each.
function(weft_rooms_link_alone name list)
  get_property(rooms GLOBAL PROPERTY WEFT_ROOMS)
  add_custom_target(${name})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/alone)
  file(CONFIGURE OUTPUT ${folder}/empty.cpp CONTENT "")
  set(lines "")
  foreach(room ${rooms})
    string(REPLACE / _ target weft_${room})
    add_library(${target}_alone SHARED EXCLUDE_FROM_ALL ${folder}/empty.cpp)
    set_target_properties(${target}_alone PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder})
    target_link_libraries(${target}_alone PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${target}>)
    # Parts of libsodium are position independent only where its symbols are not exported.
    target_link_options(${target}_alone PRIVATE -Wl,-z,defs -Wl,--exclude-libs,libsodium.a)
    add_dependencies(${name} ${target}_alone)
    string(APPEND lines "${room} $<TARGET_FILE:${target}>\n")
  endforeach()
  file(GENERATE OUTPUT ${list} CONTENT "${lines}")
endfunction()
