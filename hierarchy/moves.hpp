// Moves inside a node, as plan fragments: who copies what, and how the others learn of it.
//
// All ranks of a node call the same fragments in the same order with the same moves; then their
// signals match.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/builder.hpp"

namespace weft::hierarchy {

/// Bytes that go from one rank to another of its node (or to itself).
struct Move {
  std::vector<plan::Slice> targets;
  std::vector<plan::Slice> sources;  // as many bytes

  bool empty() const { return targets.empty(); }
};

/// The move from rank `from` to rank `to`; the same whoever asks. Empty where there is nothing.
using Moves = std::function<Move(int from, int to)>;

/// The ranks that share `rank`'s node, without it, beginning after it: so that they do not all
/// turn to the same one first.
std::vector<int> peers_of(const Machine& machine, int rank);

/// Each rank copies what it has for others to where they want it (their stages), and signals.
/// Returns the ops after which all that the others and this rank itself had for it is there.
/// Signals: one for each non-empty move.
std::vector<plan::OpId> push(plan::Builder& builder, std::span<const int> peers,
                             const Moves& moves);

/// Each rank says when what it has for others lies ready for them (`ready`), and copies what the
/// others, and itself, have for it. Signals: one for each non-empty move.
void pull(plan::Builder& builder, std::span<const int> peers, const Moves& moves,
          plan::After ready);

/// Buffers that peers read where they lie: each rank tells all peers that it has come, and none
/// leaves before all have read. Signals: two for each peer.
class OpenInputs {
 public:
  /// Tells the peers that this rank has come.
  OpenInputs(plan::Builder& builder, std::span<const int> peers);

  /// Copies what the peers and this rank itself have for it; the copies.
  std::vector<plan::OpId> read(const Moves& moves);

  /// Tells each peer when it has been read, and awaits the same from each.
  void close();

 private:
  struct Peer {
    int rank;
    plan::OpId entered;
    std::vector<plan::OpId> reads;
  };

  plan::Builder& builder_;
  std::vector<Peer> peers_;
};

}  // namespace weft::hierarchy
