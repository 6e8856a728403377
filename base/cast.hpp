// Checked casts between integer types, and rounding.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace weft {

/// `value` as a To, or UsageError when it does not fit.
template <class To, class From>
constexpr To checked_cast(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  if (!std::in_range<To>(value)) {
    throw_usage("{} does not fit into {} {} bytes", value,
                std::is_signed_v<To> ? "a signed integer of" : "an unsigned integer of",
                sizeof(To));
  }
  return static_cast<To>(value);
}

constexpr auto ceil_div(auto value, decltype(value) by) {
  return (value + by - 1) / by;
}

constexpr auto round_up(auto value, decltype(value) multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace weft
