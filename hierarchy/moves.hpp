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

/// What goes from one rank of a node to another, or to itself. The same whoever asks.
struct Moves {
  /// Whether there is anything from rank `from` to rank `to`.
  std::function<bool(int from, int to)> any;
  /// Adds the copies of it, each behind `after`, to the plan of whoever makes them.
  std::function<void(int from, int to, plan::After after, std::vector<plan::OpId>& done)> copy;
};

/// The ranks that share `rank`'s node, without it, beginning after it: so that they do not all
/// turn to the same one first.
std::vector<int> peers_of(const Machine& machine, int rank);

/// Each rank copies what it has for others, and for itself, to where they want it (their stages),
/// and signals. Returns the ops after which all that the others had for it is there. Signals: one
/// for each move that is not empty.
std::vector<plan::OpId> push(plan::Builder& builder, std::span<const int> peers,
                             const Moves& moves);

/// Each rank says when what it has for others lies ready for them (`ready`), and copies what the
/// others, and itself, have for it. Signals: one for each move that is not empty.
void pull(plan::Builder& builder, std::span<const int> peers, const Moves& moves,
          plan::After ready);

/// Buffers that peers read where they lie: each rank tells those who will read its own that it has
/// come, and does not leave before they have read. Signals: two for each pair that reads.
class OpenInputs {
 public:
  /// Tells the peers that this rank has come. `reads(from, to)`: whether `to` reads what `from`
  /// has.
  OpenInputs(plan::Builder& builder, std::span<const int> peers,
             const std::function<bool(int from, int to)>& reads);

  /// Copies what the peers and this rank itself have for it.
  void read(const Moves& moves);

  /// Tells each peer when it has been read, and awaits the same from each.
  void close();

 private:
  struct Peer {
    int rank;
    bool read_here;  // this rank reads the peer's
    bool reads;      // the peer reads this rank's
    plan::OpId entered;
    std::vector<plan::OpId> copies;
  };

  plan::Builder& builder_;
  std::vector<Peer> peers_;
};

}  // namespace weft::hierarchy
