// Moves of data inside a node, as plan fragments: copies, and the signals that announce them.
//
// All ranks of a node must call the same fragments in the same order with the same moves, so that
// their signals match.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/builder.hpp"

namespace weft::hierarchy {

/// The data that goes from each rank of a node to each other and to itself. All ranks give the
/// same.
struct Moves {
  /// True if some data goes from rank `from` to rank `to`.
  std::function<bool(int from, int to)> any;
  /// Adds the copies of that data, each behind `after`, to the plan of the rank that copies;
  /// appends them to `done`.
  std::function<void(int from, int to, plan::After after, std::vector<plan::OpId>& done)> copy;
};

/// The other ranks of `rank`'s node, beginning with the one after it and going round, so that ranks
/// do not all start with the same peer.
std::vector<int> peers_of(const Machine& machine, int rank);

/// Each rank copies its data for the others, and for itself, to their destinations (stages), and
/// signals. Returns the ops after which all data of the others for this rank has arrived. Signals:
/// one for each move that is not empty.
std::vector<plan::OpId> push(plan::Builder& builder, std::span<const int> peers,
                             const Moves& moves);

/// Each rank signals when its data for others can be read (after `ready`), and copies the data of
/// the others, and its own, for itself. Signals: one for each move that is not empty.
void pull(plan::Builder& builder, std::span<const int> peers, const Moves& moves,
          plan::After ready);

/// Buffers that peers read in place. Each rank signals to its readers that it has entered the call,
/// and does not leave before they have read. Signals: two for each pair that reads.
class OpenInputs {
 public:
  /// Signals to the readers that this rank has entered. `reads(from, to)`: true if `to` reads from
  /// `from`.
  OpenInputs(plan::Builder& builder, std::span<const int> peers,
             const std::function<bool(int from, int to)>& reads);

  /// Copies the data of the peers, and of this rank itself, for this rank.
  void read(const Moves& moves);

  /// Signals to each peer that its buffer has been read, and waits for the same from each reader.
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
