// Simulation: the queues of sends at the adapters.
#include <algorithm>
#include <utility>

#include "sim/simulation.hpp"

namespace weft::sim {

namespace {

// Adapters alternate between messages in pieces. A piece has at least so many bytes, which keeps
// small messages whole; a message has at most so many pieces, which bounds the number of events.
constexpr std::uint64_t kLeastPiece = 8192;
constexpr std::uint64_t kMostPieces = 16;
constexpr std::uint64_t kMostPieceBytes = 1u << 30;

}  // namespace

/// Bytes of the next piece of a message.
std::uint64_t Simulation::piece_of(const Op& send) const {
  const std::uint64_t whole = send.bytes;
  const std::uint64_t piece =
      std::clamp((whole + kMostPieces - 1) / kMostPieces, kLeastPiece, kMostPieceBytes);
  return std::min(send.left, piece);
}

int Simulation::adapter_of(int member) const {
  return network_.adapter_of(members_.node_of(member), network_.rail_of(member));
}

void Simulation::add_sender(int rank) {
  if (cores_[rank].sending++ > 0) return;
  adapters_[adapter_of(rank)].senders += members_.weight_of(rank);
}

void Simulation::remove_sender(int rank, Time when) {
  if (when > now_ && hardware_.counts_senders) {
    events_.add(when, EventKind::quiet, static_cast<std::uint32_t>(rank));
    return;
  }
  if (--cores_[rank].sending > 0) return;
  adapters_[adapter_of(rank)].senders -= members_.weight_of(rank);
}

/// The adapter may send that message from now on.
void Simulation::hand_over(Index index) {
  queue(index);
  offer(ops_[index].member);
}

void Simulation::queue(Index index) {
  const Op& op = ops_[index];
  const int rank = op.member;
  Core& core = cores_[rank];
  ++core.queued;
  if (op.bytes <= hardware_.stored_bytes) {
    core.stored = index;
    return;
  }
  const bool small = op.bytes <= kLeastPiece;
  const auto pair = static_cast<std::uint64_t>(members_.rank_of(rank)) << 32 |
                    static_cast<std::uint32_t>(op.peer);
  push(core.sends[small ? 0 : mix(0, pair) % kTurns], index);
}

/// A piece that a core has stored comes first: the core waits for it.
Index Simulation::next_send(Core& core) {
  --core.queued;
  if (core.stored != kNone) return std::exchange(core.stored, kNone);
  while (core.sends[core.turn].empty()) core.turn = (core.turn + 1) % kTurns;
  OpQueue& sends = core.sends[core.turn];
  core.turn = (core.turn + 1) % kTurns;
  return pop(sends);
}

/// Puts the rank into the list of its adapter if it has a message for it.
void Simulation::offer(int rank) {
  Core& core = cores_[rank];
  if (core.listed || core.parked || core.queued == 0) return;
  if (core.sender_free_at > now_) {
    core.parked = true;
    events_.add(core.sender_free_at, EventKind::sender, static_cast<std::uint32_t>(rank));
    return;
  }
  const int adapter = adapter_of(rank);
  SenderList& list = adapters_[adapter];
  core.listed = true;
  core.next_sender = -1;
  (list.head < 0 ? list.head : cores_[list.tail].next_sender) = rank;
  list.tail = rank;
  if (!list.waits) serve(adapter);
}

void Simulation::serve(int adapter) {
  SenderList& list = adapters_[adapter];
  while (list.head >= 0) {
    if (network_.free_at(adapter) > now_) {
      list.waits = true;
      events_.add(network_.free_at(adapter), EventKind::adapter,
                  static_cast<std::uint32_t>(adapter));
      return;
    }
    const int rank = list.head;
    Core& core = cores_[rank];
    list.head = core.next_sender;
    core.listed = false;
    list.waits = true;  // senders that are added meanwhile are served by this loop
    send_piece(adapter, rank, next_send(core));
    offer(rank);
    list.waits = false;
  }
}

void Simulation::send_piece(int adapter, int rank, Index index) {
  Core& core = cores_[rank];
  Op& op = ops_[index];
  const bool stored = op.bytes <= hardware_.stored_bytes;
  Piece piece{members_.node_of(rank),   network_.leaf_of(node_number(rank)),
              network_.rail_of(rank),   stored ? core.piece : piece_of(op),
              members_.weight_of(rank), core.spread};
  piece.is_first = op.left == op.bytes;
  piece.is_whole = piece.is_first && piece.bytes == op.bytes;
  piece.is_stored = stored;
  piece.ready = stored ? core.store_begin : now_;
  arrivals_.clear();
  for (const Index recv : program_.listeners(index)) {
    const int receiver = ops_[recv].member;
    arrivals_.push_back(
        {members_.node_of(receiver), node_number(receiver), members_.weight_of(receiver)});
  }
  const Passage passage = network_.send(piece, arrivals_, adapters_[adapter].senders, now_);
  core.spread = passage.spread;
  op.left -= piece.bytes;
  const bool last = op.left == 0;
  std::size_t next = 0;
  for (const Index recv : program_.listeners(index)) {
    events_.add(std::max(now_, arrivals_[next++].at) + jitter(index), EventKind::landed, recv,
                static_cast<std::uint32_t>(piece.bytes) | (last ? kLastPiece : 0));
  }
  if (last) remove_sender(rank, passage.sent);
  if (stored) {
    core.untaken = false;
    if (core.action == Action::stored) {  // it waited for that
      account(core, Cost::contention, now_ - core.action_begin);
      events_.add(now_, EventKind::core, static_cast<std::uint32_t>(rank));
    }
    return;
  }
  core.sender_free_at = now_ + network_.sender_rate().time(piece.bytes);
  if (last) {
    memory_.moved_by_adapter(program_.side(op, 0), op.bytes);
    events_.add(std::max(now_, passage.sent), EventKind::deliver, index);
  } else {
    queue(index);
  }
}

}  // namespace weft::sim
