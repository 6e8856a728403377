// The problem: which collective, on what.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::plan {

enum class Collective : std::uint8_t { alltoall };

std::string_view to_string(Collective collective);
/// UsageError lists what there is.
Collective parse_collective(std::string_view text);

/// What a collective is asked to do, the same on every rank.
///
/// Alltoall: block j of the input of rank i ends as block i of the output of rank j. Block k of
/// either buffer is the `block_bytes` bytes at k * `stride`. A stride above block_bytes lets a
/// large call run in slices of its blocks; the bytes between the blocks are never touched.
struct Problem {
  Collective collective = Collective::alltoall;
  int ranks = 1;
  std::uint64_t block_bytes = 0;
  std::uint64_t stride = 0;  // >= block_bytes

  static Problem alltoall(int ranks, std::uint64_t block_bytes) {
    return {Collective::alltoall, ranks, block_bytes, block_bytes};
  }

  /// Bytes that the caller's input and output must have.
  std::uint64_t buffer_bytes() const {
    return ranks == 0 || block_bytes == 0 ? 0 : (ranks - 1) * stride + block_bytes;
  }

  bool operator==(const Problem&) const = default;
};

}  // namespace weft::plan
