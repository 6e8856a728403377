// Random slices for properties, and the plain list of the bytes they mean.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "plan/slice.hpp"

namespace weft::plan::testing {

using Byte = std::tuple<Space, int, std::uint64_t>;

/// The slice's bytes in its order, one by one.
inline std::vector<Byte> bytes_of(const Slice& slice) {
  std::vector<Byte> bytes;
  for (std::uint64_t i = 0; i < slice.count; ++i) {
    for (std::uint64_t j = 0; j < slice.block_bytes; ++j) {
      bytes.emplace_back(slice.space, slice.owner, slice.offset + i * slice.stride + j);
    }
  }
  return bytes;
}

inline std::vector<Byte> bytes_of(const std::vector<Slice>& slices) {
  std::vector<Byte> all;
  for (const Slice& slice : slices) {
    const auto bytes = bytes_of(slice);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

/// A number in [low, high].
inline std::uint64_t number(std::uint64_t low, std::uint64_t high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}

/// Small, often empty, contiguous or crowded, of the spaces of ranks below `owners`.
inline Slice random_slice(int owners = 2) {
  const auto space = static_cast<Space>(number(0, 3));
  const auto block = number(0, 6);
  return Slice::strided(space, static_cast<int>(number(0, static_cast<std::uint64_t>(owners) - 1)),
                        number(0, 40), block, number(0, 5), block + number(0, 4));
}

}  // namespace weft::plan::testing
