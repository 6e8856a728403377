// Random numbers of a drawn program: the same on every rank that begins from the same parts.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace weft::test {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::initializer_list<std::uint64_t> parts) noexcept {
    for (const std::uint64_t part : parts) state_ = mixed(state_ ^ part);
  }
  std::uint64_t next() noexcept { return mixed(state_ += kStep); }
  /// 0 to `limit` - 1.
  int below(int limit) noexcept { return static_cast<int>(next() % static_cast<unsigned>(limit)); }
  bool one_in(int many) noexcept { return below(many) == 0; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  static std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits += kStep;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31U);
  }
  std::uint64_t state_ = 0;
};

}  // namespace weft::test
