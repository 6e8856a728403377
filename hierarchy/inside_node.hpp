// Plan fragments of a scheme among the ranks of one node.
#pragma once

#include <cstdint>
#include <optional>

#include "hierarchy/local_blocks.hpp"
#include "hierarchy/moves.hpp"

namespace weft::hierarchy {

/// The part of a plan that stays on the node of the builder's rank. Every rank of the node calls
/// the same members in the same order.
///
/// With P ranks on the node and blocks of m bytes, exchange_blocks() costs a rank
///   staged: stage (P - 1) m, copied 2 (P - 1) m + m, signals P - 1
///   direct: stage 0, copied P m, signals 2 (P - 1), shared with collect()
/// Blocks of different sizes: the same with their sizes, and no signal where there is no byte.
///
/// In slots, where blocks of different sizes have a limit, each staged block has one of fixed size:
/// stage (P - 1) (limit + 64), the limit rounded up to 64. Then a rank needs to know only its own
/// blocks.
class InsideNode {
 public:
  static constexpr std::uint64_t kNoLimit = UINT64_MAX;

  /// The arguments must live longer. `direct`: read peers' inputs in their own buffers; not for
  /// calls in place, whose buffers peers write. Blocks above `limit` bytes are not staged: the
  /// caller sends them. `slots`: stages blocks in slots, if it can.
  InsideNode(plan::Builder& builder, const LocalBlocks& blocks, const Machine& machine, bool direct,
             std::uint64_t limit, bool slots);

  /// True if the caller has to send a block of so many bytes between two ranks of this node.
  bool leaves(std::uint64_t bytes) const { return !direct_ && bytes > limit_; }

  /// Bytes at the beginning of the stage of `owner` that are for exchange_blocks(); a multiple of
  /// the alignment. The user of the stages allocates them, these bytes included.
  std::uint64_t stage_bytes(int owner) const;

  /// Moves from inputs into stages. Staged: the owners of the inputs write, one signal a move.
  /// Direct: the owners of the stages read. Returns the ops after which this rank's stage has
  /// all that others write into it; its own copies are known from the moves.
  std::vector<plan::OpId> collect(const Moves& moves);

  /// Moves from stages into stages; the owners of the sources write, one signal a move. Returns the
  /// ops after which this rank's stage has all that others write into it.
  std::vector<plan::OpId> pass_on(const Moves& moves);

  /// The alltoall among the ranks of the node. Staged: a rank copies its blocks for its P - 1 peers
  /// into its own stage, where they lie by the peers' places, and each peer copies its block out;
  /// so a rank writes cache lines of its own only.
  ///
  ///   stage of rank 1 of 4:   | for 0 | for 2 | for 3 |
  ///
  /// In place each rank copies all of its blocks out before it copies peers' blocks in; in slots,
  /// only the block that lies in the same bytes.
  /// Direct: each rank copies its blocks from the inputs of its peers; no collect() may follow.
  void exchange_blocks();

  /// Moves from stages to outputs, once the ops in `ready` are complete at the stage's owner; one
  /// signal a move.
  void distribute(const Moves& moves, plan::After ready);

 private:
  void open(const std::function<bool(int from, int to)>& collects);
  void exchange_staged();
  void exchange_in_slots();
  void exchange_direct();
  /// The part of the stage of `from` that holds its block for `to`.
  plan::Slice slot(int from, int to, std::uint64_t bytes) const;
  /// The bytes of a block that are staged.
  std::uint64_t staged_bytes(int from, int to) const;

  plan::Builder& builder_;
  const LocalBlocks& blocks_;
  const Machine& machine_;
  const bool direct_;
  const std::uint64_t limit_;
  const std::uint64_t slot_bytes_;  // 0: there are no slots
  const int self_;
  const std::vector<int> peers_;
  std::optional<OpenInputs> inputs_;  // made when first needed
};

}  // namespace weft::hierarchy
