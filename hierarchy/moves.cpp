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
  for (const int peer : peers) {
    const Move move = moves(self, peer);
    if (move.empty()) continue;
    std::vector<OpId> copies;
    builder.copy(move.targets, move.sources, {}, copies);
    builder.signal(peer, copies);
  }
  std::vector<OpId> arrived;
  const Move own = moves(self, self);
  builder.copy(own.targets, own.sources, {}, arrived);
  for (std::size_t i = peers.size(); i-- > 0;) {  // those before this rank turned to it first
    if (!moves(peers[i], self).empty()) arrived.push_back(builder.wait(peers[i]));
  }
  return arrived;
}

void pull(plan::Builder& builder, std::span<const int> peers, const Moves& moves,
          plan::After ready) {
  const int self = builder.rank();
  for (const int peer : peers) {
    if (!moves(self, peer).empty()) builder.signal(peer, ready);
  }
  std::vector<OpId> copies;
  const Move own = moves(self, self);
  builder.copy(own.targets, own.sources, ready, copies);
  for (std::size_t i = peers.size(); i-- > 0;) {
    const Move move = moves(peers[i], self);
    if (!move.empty()) builder.copy(move.targets, move.sources, builder.wait(peers[i]), copies);
  }
}

OpenInputs::OpenInputs(plan::Builder& builder, std::span<const int> peers) : builder_(builder) {
  for (const int peer : peers) builder.signal(peer);
  peers_.reserve(peers.size());
  for (const int peer : peers) peers_.push_back({peer, builder.wait(peer), {}});
}

std::vector<OpId> OpenInputs::read(const Moves& moves) {
  const int self = builder_.rank();
  std::vector<OpId> copies;
  const Move own = moves(self, self);
  builder_.copy(own.targets, own.sources, {}, copies);
  for (Peer& peer : peers_) {
    const Move move = moves(peer.rank, self);
    const auto first = static_cast<std::ptrdiff_t>(copies.size());
    builder_.copy(move.targets, move.sources, peer.entered, copies);
    peer.reads.insert(peer.reads.end(), copies.begin() + first, copies.end());
  }
  return copies;
}

void OpenInputs::close() {
  for (const Peer& peer : peers_) {
    std::vector<OpId> after = peer.reads;
    if (after.empty()) after.push_back(peer.entered);
    builder_.signal(peer.rank, after);
  }
  for (const Peer& peer : peers_) builder_.wait(peer.rank);
}

}  // namespace weft::hierarchy
