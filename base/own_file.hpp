// Where the files lie that belong to weft: its add-ons and its software device.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// The path of `name` beside the object that holds this code (the tool, a test, a preloaded
/// add-on), as in a build tree, or in ../lib, ../lib/weft or .. from there, as once installed.
/// Where it lies in none of them, the path beside the object.
std::string own_file(std::string_view name);

}  // namespace weft
