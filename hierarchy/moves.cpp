#include "hierarchy/moves.hpp"

namespace weft::hierarchy {

using plan::OpId;

std::vector<int> peers_of(const Machine& machine, int rank) {
  const auto ranks = machine.ranks_on(machine.node_of(rank));
  std::vector<int> peers;
  peers.reserve(ranks.size() - 1);
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    peers.push_back(ranks[(static_cast<std::size_t>(machine.place_of(rank)) + i) % ranks.size()]);
  }
  return peers;
}

std::vector<OpId> push(plan::Builder& builder, std::span<const int> peers, const Moves& moves) {
  const int self = builder.rank();
  std::vector<OpId> copies;
  for (const int peer : peers) {
    if (!moves.any(self, peer)) continue;
    copies.clear();
    moves.copy(self, peer, {}, copies);
    builder.signal(peer, copies);
  }
  if (moves.any(self, self)) moves.copy(self, self, {}, copies);
  std::vector<OpId> arrived;
  for (std::size_t i = peers.size(); i-- > 0;) {  // the peers before this rank start with it
    if (moves.any(peers[i], self)) arrived.push_back(builder.wait(peers[i]));
  }
  return arrived;
}

void pull(plan::Builder& builder, std::span<const int> peers, const Moves& moves,
          plan::After ready) {
  const int self = builder.rank();
  for (const int peer : peers) {
    if (moves.any(self, peer)) builder.signal(peer, ready);
  }
  std::vector<OpId> copies;
  if (moves.any(self, self)) moves.copy(self, self, ready, copies);
  for (std::size_t i = peers.size(); i-- > 0;) {
    if (!moves.any(peers[i], self)) continue;
    moves.copy(peers[i], self, builder.wait(peers[i]), copies);
  }
}

OpenInputs::OpenInputs(plan::Builder& builder, std::span<const int> peers,
                       const std::function<bool(int from, int to)>& reads)
    : builder_(builder) {
  const int self = builder.rank();
  peers_.reserve(peers.size());
  for (const int peer : peers) {
    peers_.push_back({peer, reads(peer, self), reads(self, peer), plan::kNoOp, {}});
    if (peers_.back().reads) builder.signal(peer);
  }
  for (Peer& peer : peers_) {
    if (peer.read_here) peer.entered = builder.wait(peer.rank);
  }
}

void OpenInputs::read(const Moves& moves) {
  const int self = builder_.rank();
  std::vector<OpId> own;
  if (moves.any(self, self)) moves.copy(self, self, {}, own);
  for (Peer& peer : peers_) {
    if (moves.any(peer.rank, self)) moves.copy(peer.rank, self, peer.entered, peer.copies);
  }
}

void OpenInputs::close() {
  for (const Peer& peer : peers_) {
    if (peer.read_here) builder_.signal(peer.rank, peer.copies);
  }
  for (const Peer& peer : peers_) {
    if (peer.reads) builder_.wait(peer.rank);
  }
}

}  // namespace weft::hierarchy
