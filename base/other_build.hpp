// The error of a rank that cannot read what another rank has sent.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

/// Error: `what`, of `bytes`, is of another build of weft than this one.
[[noreturn]] void throw_other_build(std::string_view what, std::size_t bytes);

}  // namespace weft
