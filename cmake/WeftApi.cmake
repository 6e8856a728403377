# libweft.so: the public C and C++ API as one shared library, for programs that are linked to it.
add_library(weft_api SHARED
  $<TARGET_OBJECTS:weft_comm_bootstrap> $<TARGET_OBJECTS:weft_comm_calls>
  $<TARGET_OBJECTS:weft_comm_c_api>)
weft_as_needed(weft_api)
target_link_libraries(weft_api PRIVATE weft_comm_irregular)
target_link_options(weft_api PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/comm/exports.map)
if(NOT WEFT_SANITIZE)
  target_link_options(weft_api PRIVATE -Wl,-z,defs)
endif()
set_target_properties(weft_api PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/comm/exports.map)
target_compile_features(weft_api INTERFACE cxx_std_20)
