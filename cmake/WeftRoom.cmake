# Flags that every target of the project shares.
add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(weft_flags INTERFACE WEFT_VERSION="${PROJECT_VERSION}")
# A product and a sum stay two roundings: reductions have the same bits on every processor.
target_compile_options(weft_flags INTERFACE -ffp-contract=off)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wcast-align -Wconversion -Wno-sign-conversion
  $<$<BOOL:${WEFT_WERROR}>:-Werror>)
if(WEFT_SANITIZE)
  # Under instrumentation GCC 12 takes members of libstdc++'s own classes for uninitialized.
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
find_package(Threads REQUIRED)
target_link_libraries(weft_flags INTERFACE Threads::Threads)

# weft_room(NAME DEPENDS rooms... PRIVATE libraries...): the static library weft_NAME of the
# sources in the folder NAME (not of folders below it). Static, and position independent, so that
# an add-on to be preloaded is one self-contained shared object.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.hpp)
  if(sources)
    add_library(weft_${name} STATIC ${sources} ${headers})
    set(scope PUBLIC)
    target_link_libraries(weft_${name} PRIVATE ${ROOM_PRIVATE})
  else()
    add_library(weft_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(weft_${name} ${scope} weft_flags)
  if(sources AND WEFT_SANITIZE)
    weft_precompile(weft_${name} rooms <algorithm> <array> <chrono> <functional> <map> <memory>
      <mutex> <optional> <set> <span> <string> <vector>)
  endif()
  foreach(dependency ${ROOM_DEPENDS})
    if(TARGET weft_${dependency})
      target_link_libraries(weft_${name} ${scope} weft_${dependency})
    else()
      target_link_libraries(weft_${name} ${scope} ${dependency})
    endif()
  endforeach()
endfunction()
