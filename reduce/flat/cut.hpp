// A vector cut between whole elements.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithm/fold.hpp"
#include "algorithm/ledger.hpp"
#include "algorithm/reduction.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"
#include "plan/slice.hpp"

namespace weft::reduce {

using algorithm::Fold;
using algorithm::Ledger;
using algorithm::Reduction;
using algorithm::side_of;
using plan::Block;
using plan::Operand;

/// The bytes of `block` within a contiguous slice.
plan::Slice part_of(const plan::Slice& slice, const Block& block);

/// `bytes` bytes in `parts` parts of whole grains, as even as can be, the larger first. What is
/// left of the last grain, if the bytes are no multiple of it, is the end of the last part that has
/// any.
class Cut {
 public:
  Cut(std::uint64_t bytes, std::uint64_t grain, int parts);

  int parts() const { return parts_; }
  Block part(int index) const { return parts_between(index, index + 1); }
  /// Parts first to last - 1, which lie side by side.
  Block parts_between(int first, int last) const;

 private:
  std::uint64_t begin(int part) const;

  std::uint64_t bytes_;
  std::uint64_t grain_;
  int parts_;
  std::uint64_t each_;    // grains of every part
  std::uint64_t larger_;  // parts that have one more
};

/// `block` in segments of at most `segment_bytes`, but at least one grain; 0: the block whole.
std::vector<Block> segments(const Block& block, std::uint64_t segment_bytes, std::uint64_t grain);

}  // namespace weft::reduce
