// Version of weft.
#pragma once

namespace weft {

/// The version in CMakeLists.txt, as "1.2.3".
inline constexpr const char* kVersion = WEFT_VERSION;

}  // namespace weft
