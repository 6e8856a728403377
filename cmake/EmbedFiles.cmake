# cmake -D OUTPUT=FILE -D FILES=a.json,b.json -P EmbedFiles.cmake
#
# Writes the source that defines embedded_catalogue() (nic_profiles/embedded.hpp): the text of each
# file, in the order given.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedFiles.cmake.
#include \"nic_profiles/embedded.hpp\"

namespace weft::nic_profiles {

static constexpr EmbeddedFile kFiles[] = {
${entries}};

std::span<const EmbeddedFile> embedded_catalogue() { return kFiles; }

}  // namespace weft::nic_profiles
")
