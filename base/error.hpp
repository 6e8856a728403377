// Throwing weft's errors. Setup throws; the datapath returns a status instead.
#pragma once

#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error_types.hpp"

namespace weft {

template <class... Args>
[[noreturn]] void throw_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void throw_errno(std::string_view call);

}  // namespace weft
