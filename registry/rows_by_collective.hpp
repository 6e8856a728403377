// Rows of a table of algorithms by collective: found at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "algorithm/forms.hpp"

namespace weft::registry {

inline constexpr std::size_t kCollectives =
    static_cast<std::size_t>(plan::Collective::alltoallv) + 1;

/// The number of rows of `table` that have a form for the collective.
template <const auto& table>
consteval std::size_t count_of(plan::Collective collective) {
  return static_cast<std::size_t>(std::ranges::count_if(
      table, [&](const auto& row) { return row.find(collective) != nullptr; }));
}

/// The rows of `table` with a form for the collective, in the order of the table.
template <const auto& table, plan::Collective collective>
inline constexpr auto kRowsOf = [] {
  std::array<decltype(table.data()), count_of<table>(collective)> found = {};
  std::size_t next = 0;
  for (const auto& row : table) {
    if (row.find(collective) != nullptr) found[next++] = &row;
  }
  return found;
}();

/// The rows for each collective, by the collective's number.
template <const auto& table>
consteval auto by_collective() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    using Rows = std::span<const decltype(table.data())>;
    return std::array<Rows, sizeof...(i)>{
        Rows(kRowsOf<table, static_cast<plan::Collective>(i)>)...};
  }
  (std::make_index_sequence<kCollectives>());
}

/// The rows of `table` with a form for the collective, in the order of `names`. Compiles only where
/// these are the names of all of them.
template <const auto& table, plan::Collective collective, std::size_t n>
consteval auto in_order_of(const std::string_view (&names)[n]) {
  static_assert(n == count_of<table>(collective), "a list of names has too many or too few");
  std::array<decltype(table.data()), n> found = {};
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto& row : table) {
      if (row.name == names[i] && row.find(collective) != nullptr) found[i] = &row;
    }
    if (found[i] == nullptr) throw "a name of a list is not in the table";
  }
  return found;
}

}  // namespace weft::registry
