// Row steps: which block of an alltoallv each step of a rank's program moves, so that the program
// serves other rows of blocks, by other numbers, without a plan.
//
// A *row* is where the blocks lie that a rank sends to each rank, then those that it receives from
// each (vector_exchange.hpp). Where a plan moves each block as a whole, from the caller's input or
// to the caller's output in one step, its shape depends on the row only by the way of each block
// (block_ways.hpp). So a program for one row becomes, by other offsets and sizes, the one for any
// other row whose blocks go the same ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/irregular/block_ways.hpp"
#include "engine/run/executor.hpp"
#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::comm {

class RowSteps {
 public:
  /// Of programs that cannot be renumbered.
  RowSteps() = default;
  /// Of a program that was made for `row`, not in place, whose blocks go these `ways` by their
  /// size. It cannot be renumbered where some step moves anything but one block between a buffer of
  /// the caller and the other buffer, a stage, a signal or another rank.
  RowSteps(const engine::Program& program, std::span<const int> peers,
           const hierarchy::Machine& machine, int rank, std::span<const plan::Block> row,
           std::span<const BlockWay> ways);

  /// Whether the program becomes that of `row` by other numbers, where its blocks go these `ways`.
  bool serves(std::span<const plan::Block> row, std::span<const BlockWay> ways) const noexcept;
  /// Writes the numbers of `row`, which it serves, into the program that this was made of; messages
  /// without bytes are left out. Returns whether it has the same steps as before.
  bool renumber(std::span<const plan::Block> row, engine::Program& program) const noexcept;

 private:
  static constexpr std::uint32_t kNoBlock = UINT32_MAX;
  /// The numbers in the row of the block that a step reads, and of the one that it writes.
  struct Moved {
    std::uint32_t step = 0;
    std::uint32_t source = kNoBlock;
    std::uint32_t target = kNoBlock;
  };

  bool has_equal_own_blocks(std::span<const plan::Block> row) const noexcept;
  bool is_numbered_by(std::span<const plan::Block> row, const engine::Program& program) const;

  std::size_t own_ = 0;         // this rank's number
  bool hears_all_ = false;      // whether the program does where no message is left out
  std::vector<BlockWay> ways_;  // by block of the row; empty: cannot be renumbered
  std::vector<Moved> moved_;
};

}  // namespace weft::comm
