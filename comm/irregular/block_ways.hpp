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
// of the other's row; so what a way follows from is the history of this one size, and only of its
// changes, as a rank whose row stays as it is does not look at it.
//
//   size        300    100    300    100    100    120   ...
//   way      staged   sig. staged staged staged staged   back on the signal at the 9th shorter size
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

  /// The row of the next call. Where it throws std::bad_alloc nothing has changed.
  void change_to(std::span<const plan::Block> row);
  std::span<const BlockWay> ways() const noexcept { return ways_; }
  /// A row whose blocks take these ways by their size, one behind the other.
  std::vector<plan::Block> shape() const;

 private:
  // After each fall a block holds its way eight times as long, at first not at all: a program that
  // begins with long blocks and goes on with short ones pays nothing for it.
  static constexpr std::uint16_t kLonger = 8;
  static constexpr std::uint16_t kLongest = 512;

  struct History {
    std::uint64_t bytes = 0;
    std::uint16_t patience = 0;  // sizes that are shorter before it falls
    std::uint16_t left = 0;      // of them
  };

  std::uint64_t most_staged_;
  bool holds_;
  std::vector<BlockWay> ways_;
  std::vector<History> histories_;
};

}  // namespace weft::comm
