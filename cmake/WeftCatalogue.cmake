# The catalogue of adapters is part of the library: nothing is looked for when a program runs.
file(GLOB catalogue CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/nic_profiles/catalogue/*.json)
list(SORT catalogue)
string(REPLACE ";" "," catalogue_argument "${catalogue}")
set(catalogue_source ${CMAKE_BINARY_DIR}/generated/nic_profiles_catalogue.cpp)
add_custom_command(OUTPUT ${catalogue_source}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${catalogue_source} -D FILES=${catalogue_argument}
    -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
  DEPENDS ${catalogue} ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake VERBATIM)
target_sources(weft_nic_profiles PRIVATE ${catalogue_source})
