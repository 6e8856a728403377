#pragma once

namespace weft {

/// As CMakeLists.txt says it.
inline constexpr const char* kVersion = WEFT_VERSION;

}  // namespace weft
