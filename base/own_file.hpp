// Paths of weft's own files: its add-ons and its software device.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// The path of the file `name`. It is looked for beside the object that holds this code (the tool,
/// a test, a preloaded add-on), as in a build tree, then in ../lib, ../lib/weft and .. from there,
/// as when installed. When it is in none of them, the path beside the object.
std::string own_file(std::string_view name);

}  // namespace weft
