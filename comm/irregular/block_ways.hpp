// Block ways: in which way each block of an alltoallv's row travels.
//
// A *row* is where the blocks lie that a rank sends to each rank, then those that it receives from
// each (vector_exchange.hpp). A block that is short enough rides on a signal, a longer one goes
// through a stage, the longest go straight; the ways of a row's blocks are the shape of its plan.
// Particle codes have other counts in each call, and blocks whose sizes are now below such a bound
// and now above it would take a new plan each time. So a block may *hold* a way that is for longer
// blocks than it is now: signals and stages carry fewer bytes, too, and none; a message without
// bytes is left out of its plan (RowSteps).
//
// Both ends of a block must take the same way. They know its size in every call, and nothing else
// of the other's row; so what a way follows from is the history of this one size, and the number of
// the call, as all ranks count the same calls. A block holds its way until so many calls after its
// last size that needed it. The first time it falls at once: programs begin with long blocks and go
// on with short ones.
//
//   call          1      2      3      4     ...    11     12
//   size        300    100    300    100     ...   120    120
//   way      staged   sig. staged staged     ... staged   sig.   held for 8 calls; then for 64
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/problem.hpp"

namespace weft::comm {

/// Each serves shorter blocks than its own, too. Of a block of 0 bytes `none`.
enum class BlockWay : std::uint8_t { none, on_signal, staged, straight };

/// Stages take blocks of up to `most_staged` bytes.
BlockWay way_of(std::uint64_t bytes, std::uint64_t most_staged) noexcept;

/// The ways of the blocks of one rank's row, from call to call.
class BlockWays {
 public:
  /// `holds`: whether blocks hold ways that are for longer ones.
  BlockWays(std::uint64_t most_staged, bool holds) noexcept
      : most_staged_(most_staged), holds_(holds) {}

  /// The next call, with this row; `changed`: which is not that of the last call. All ranks begin
  /// the same calls. Whether some block goes another way than in the last call.
  bool begin_call(std::span<const plan::Block> row, bool changed);
  std::span<const BlockWay> ways() const noexcept { return ways_; }
  /// A row whose blocks take these ways by their size, one behind the other.
  std::vector<plan::Block> shape() const;

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;
  static constexpr std::uint16_t kLonger = 8;     // times as long after each fall
  static constexpr std::uint16_t kLongest = 512;  // calls

  struct History {
    std::uint64_t bytes = 0;
    std::uint64_t falls_at = kNever;  // the number of a call
    std::uint16_t patience = 0;       // calls with shorter sizes before that
  };

  void take_size(std::size_t block, std::uint64_t bytes) noexcept;
  void let_fall() noexcept;

  std::uint64_t most_staged_;
  bool holds_;
  bool has_changed_ = false;  // in this call
  std::uint64_t calls_ = 0;
  std::uint64_t next_fall_ = kNever;  // no later than that of any block
  std::vector<BlockWay> ways_;
  std::vector<History> histories_;
};

}  // namespace weft::comm
