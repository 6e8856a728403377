// What a scheme does among the ranks of one node, as plan fragments.
#pragma once

#include <optional>

#include "hierarchy/moves.hpp"
#include "plan/problem.hpp"

namespace weft::hierarchy {

/// The part of a plan that stays on the node of the builder's rank. Every rank of the node calls
/// the same members in the same order.
///
/// With P ranks on the node and blocks of m bytes, exchange_blocks() costs a rank
///   staged: stage (P - 1) m, copied 2 (P - 1) m + m, signals P - 1
///   direct: stage 0, copied P m, signals 2 (P - 1), shared with collect()
class InsideNode {
 public:
  /// The arguments must live longer. `direct`: read peers' inputs where they lie.
  InsideNode(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
             bool direct);

  /// Bytes at the beginning of every stage of this node that are for exchange_blocks(); a multiple
  /// of the alignment. Whoever uses stages allocates them, these included.
  std::uint64_t stage_bytes() const;

  /// Moves from inputs into stages. Returns the ops after which this rank's stage has all.
  /// Staged: the owners of the inputs write, one signal a move. Direct: the owners of the stages
  /// read.
  std::vector<plan::OpId> collect(const Moves& moves);

  /// The alltoall among the ranks of the node. Staged: a rank copies its blocks for its P - 1 peers
  /// into its own stage, where they lie by the peers' places, and each peer copies its block out;
  /// so a rank writes cache lines of its own only.
  ///
  ///   stage of rank 1 of 4:   | for 0 | for 2 | for 3 |
  ///
  /// Direct: each rank copies its blocks from the inputs of its peers; no collect() may follow.
  void exchange_blocks();

  /// Moves from stages to outputs, once the ops in `ready` are complete at the stage's owner; one
  /// signal a move.
  void distribute(const Moves& moves, plan::After ready);

 private:
  OpenInputs& inputs();
  void exchange_staged();
  plan::Slice slot(int owner, int peer) const;

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const Machine& machine_;
  const bool direct_;
  const int self_;
  const std::vector<int> peers_;
  std::optional<OpenInputs> inputs_;  // once they are needed
};

}  // namespace weft::hierarchy
