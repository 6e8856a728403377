#include "base/other_build.hpp"

#include <fmt/format.h>

#include "base/error_types.hpp"

namespace weft {

void throw_other_build(std::string_view what, std::size_t bytes) {
  throw Error(fmt::format(
      "{}, of {} bytes, cannot be read: the rank that sent it runs another build of weft", what,
      bytes));
}

}  // namespace weft
