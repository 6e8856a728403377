// Part of the algorithms of a test that tries each on each machine of a list: all of them, but
// under ThreadSanitizer, which takes a hundred times as long, a third on machines of more than
// three ranks. Any three of these that follow each other in the list have all algorithms together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::test {

/// For `machine`, one of the list, which has so many ranks.
template <class T>
std::vector<T> part_of(std::vector<T> all, [[maybe_unused]] int ranks,
                       [[maybe_unused]] std::string_view machine,
                       [[maybe_unused]] std::span<const char* const> machines) {
#ifdef __SANITIZE_THREAD__
  constexpr std::size_t kEach = 3;
  constexpr int kSmall = 3;
  if (ranks <= kSmall) return all;
  std::vector<T> part;
  const auto turn = std::ranges::find(machines, machine) - machines.begin();
  for (std::size_t i = static_cast<std::size_t>(turn) % kEach; i < all.size(); i += kEach) {
    part.push_back(std::move(all[i]));
  }
  return part;
#else
  return all;
#endif
}

}  // namespace weft::test
