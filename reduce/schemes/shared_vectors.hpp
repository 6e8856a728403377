// Shared vectors: operands of a reduction that the ranks of a node read from each other.
#pragma once

#include <set>

#include "algorithm/ledger.hpp"
#include "reduce/schemes/nodes_and_leaders.hpp"

namespace weft::reduce {

using algorithm::Ledger;

/// The vectors of the ranks of a node, as those who reduce them find them: in the stage of each, or
/// with `direct` in its input. All ranks agree on the readers.
class SharedVectors {
 public:
  /// `bytes` of each rank's vector. The arguments must live longer.
  SharedVectors(Ledger& ledger, const Nodes& nodes, std::uint64_t bytes, bool direct);

  /// Bytes at the beginning of every stage of the node that are taken; a multiple of the alignment.
  std::uint64_t stage_bytes() const { return stage_bytes_; }
  bool is_staged() const { return stage_bytes_ > 0; }

  /// The vector of `rank`: its stage, or its input where that is read.
  plan::Slice of(int rank) const;

  /// Tells `readers`, ranks of this node, that one's own vector is there, and awaits all others
  /// where this rank is one of them.
  void open(const std::set<int>& readers);
  /// Where inputs are read: the readers tell their peers when they have, and each rank waits.
  void close(const std::set<int>& readers);

 private:
  Ledger& ledger_;
  const Nodes& nodes_;
  const int self_;
  const std::uint64_t bytes_;
  const bool direct_;
  std::uint64_t stage_bytes_ = 0;
};

}  // namespace weft::reduce
