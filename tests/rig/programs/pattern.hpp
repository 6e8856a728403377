// Data of an alltoall that says where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::rig {

/// Byte `at` of the block that `from` sends to `to` in round `round`.
inline std::byte byte_of(int from, int to, std::size_t at, std::uint64_t round) {
  std::uint64_t mixed = (static_cast<std::uint64_t>(from) << 40) ^
                        (static_cast<std::uint64_t>(to) << 20) ^ at ^ (round << 52);
  mixed *= 0x9e37'79b9'7f4a'7c15;
  return static_cast<std::byte>(mixed >> 56);
}

inline std::vector<std::byte> blocks_to_all(int rank, int ranks, std::size_t bytes,
                                            std::uint64_t round) {
  std::vector<std::byte> data(bytes * static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = byte_of(rank, static_cast<int>(i / bytes), i % bytes, round);
  }
  return data;
}

inline bool are_blocks_from_all(const std::vector<std::byte>& data, int rank, std::size_t bytes,
                                std::uint64_t round) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != byte_of(static_cast<int>(i / bytes), rank, i % bytes, round)) return false;
  }
  return true;
}

}  // namespace weft::rig
