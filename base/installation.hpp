// Installation of weft: its version, and the paths of its add-ons and its software device.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// The version in CMakeLists.txt, as "1.2.3".
inline constexpr const char* kVersion = WEFT_VERSION;

/// The path of the file `name`. It is looked for beside the object that holds this code (the tool,
/// a test, a preloaded add-on), as in a build tree, then in ../lib, ../lib/weft and .. from there,
/// as when installed. When it is in none of them, the path beside the object.
std::string own_file(std::string_view name);

}  // namespace weft
