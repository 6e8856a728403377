// Set of collectives.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/problem.hpp"

namespace weft::plan {

class CollectiveSet {
 public:
  constexpr CollectiveSet() = default;
  static CollectiveSet all();

  /// A flag (yes: all of them; no: none), or names joined by commas. UsageError begins with
  /// "WHAT=TEXT" and lists what is allowed.
  static CollectiveSet parse(std::string_view what, std::string_view text);

  bool contains(Collective collective) const noexcept { return (bits_ & bit(collective)) != 0; }
  void insert(Collective collective) noexcept { bits_ |= bit(collective); }
  void erase(Collective collective) noexcept { bits_ &= ~bit(collective); }
  CollectiveSet& operator|=(CollectiveSet other) noexcept {
    bits_ |= other.bits_;
    return *this;
  }
  friend bool operator==(CollectiveSet, CollectiveSet) = default;

 private:
  static constexpr std::uint32_t bit(Collective collective) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(collective);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace weft::plan
