// Part of a list of cases: all of them, but under ThreadSanitizer, which takes a hundred times as
// long, every third.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace weft::test {

/// `of` names what the list is for, a placement for one: another one has another third.
template <class T>
std::vector<T> part_of(std::vector<T> all, [[maybe_unused]] std::string_view of) {
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t kEach = 3;
  std::vector<T> part;
  const std::size_t first = std::hash<std::string_view>{}(of) % kEach;
  for (std::size_t i = first; i < all.size(); i += kEach) part.push_back(std::move(all[i]));
  if (!part.empty()) return part;
#endif
  return all;
}

}  // namespace weft::test
