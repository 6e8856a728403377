// Simulation: the two ends of messages.
#include <algorithm>

#include "sim/simulation.hpp"

namespace weft::sim {

using plan::OpKind;

Time Simulation::jitter(Index op) const {
  const auto most = static_cast<std::uint64_t>(to_time(options_.jitter_ns));
  return most == 0 ? 0 : static_cast<Time>(mix(options_.seed, op) % (most + 1));
}

/// Time of a message without data to the other end of `from`.
Time Simulation::notice_time(Index from) const {
  const Op& op = ops_[from];
  if (!op.remote) return hardware_.signal;
  return network_.latency(node_number(op.member), machine_.node_of(op.peer));
}

/// Whether the send that the recv is for waits for its answer: of several recvs that stand for
/// those of the send's class the first one answers.
bool Simulation::is_first_listener(const Op& recv, Index index) const {
  return ops_[recv.partner].partner == index;
}

/// The question, answer, signal or end of `from` arrives at the other end at `when`.
void Simulation::notify(Index from, Time when) {
  const Op& op = ops_[from];
  if (op.kind == OpKind::recv) {
    events_.add(when, EventKind::deliver, op.partner);
    return;
  }
  const bool question = op.kind == OpKind::send && op.step == kAsked;
  for (const Index to : program_.listeners(from)) {
    if (!question || is_first_listener(ops_[to], to)) events_.add(when, EventKind::deliver, to);
  }
}

/// The core leaves an op for now: saves the history for what follows from it.
void Simulation::save_history(int rank, Index op) {
  ops_[op].time = now_;
  if (options_.breakdown) histories_[op] = cores_[rank].history;
}

/// The history of an arrival at `to` now from `from`, which its core left at Op::time.
History Simulation::history_at(Index from, Index to) const {
  const Op& source = ops_[from];
  History history = histories_[from];
  Time rest = now_ - source.time;
  const auto spend = [&](Cost cost, Time most) {
    const Time spent = std::min(rest, most);
    history[static_cast<std::size_t>(cost)] += spent;
    rest -= spent;
  };
  const bool data = source.kind == OpKind::send && source.step == kInjected;
  if (data && source.remote) {
    if (from != to) spend(Cost::startup, notice_time(from));
    const std::uint64_t bytes = source.bytes;
    if (bytes > hardware_.stored_bytes) spend(Cost::startup, hardware_.dma_start);
    spend(Cost::wire, network_.wire_time(bytes));
    spend(Cost::contention, rest);
  }
  spend(Cost::startup, rest);
  return history;
}

void Simulation::begin_send(int rank, Index index) {
  Op& op = ops_[index];
  if (!asks_first(op)) return inject(rank, index);
  if (op.partner == kNone) {  // its receiver is no member: taken as ready
    op.step = kAsked;
    return inject(rank, index);
  }
  if (hardware_.receiver_first) {
    op.step = kAsked;
    if ((op.state & kArrived) != 0) inject(rank, index);
    return;
  }
  const Time time = op.remote ? hardware_.post : 0;
  account(cores_[rank], Cost::startup, time);
  occupy(rank, Action::ask, time);
}

void Simulation::begin_recv(int rank, Index index) {
  Op& op = ops_[index];
  Core& core = cores_[rank];
  if (op.remote) add_waiting(core, op);
  if (asks_first(op) && !is_first_listener(op, index)) op.step = kAsked;
  if (hardware_.receiver_first && asks_first(op) && op.step != kAsked) {
    op.step = kAsked;
    const Time time = op.remote ? hardware_.post : 0;
    account(core, Cost::startup, time);
    return occupy(rank, Action::answer, time);
  }
  if ((op.state & kArrived) != 0) add_arrival(rank, index);
}

/// Whether it goes straight into memory of the caller.
bool Simulation::goes_to_caller(const Op& send) const {
  if (send.partner == kNone) return false;
  const Op& recv = ops_[send.partner];
  const plan::Space space = space_of(program_.side(recv, 0));
  return asks_first(recv) && (space == plan::Space::input || space == plan::Space::output);
}

/// With receiver_first a large message is a post for each block, and one for the notice of its end;
/// a small one is put together, and taken apart again, by copies.
Time Simulation::post_time(const Op& op) const {
  if (!asks_first(op))
    return hardware_.post + hardware_.copy_start * (program_.side(op, 0).blocks - 1);
  if (!hardware_.receiver_first) return hardware_.post;
  const std::uint32_t there = op.partner == kNone ? 1 : program_.side(ops_[op.partner], 0).blocks;
  const Time blocks = std::max<Time>(there, program_.side(op, 0).blocks);
  return hardware_.post +
         blocks * (hardware_.post + (goes_to_caller(op) ? hardware_.into_caller : 0));
}

/// The core begins to send the data.
void Simulation::inject(int rank, Index index) {
  Op& op = ops_[index];
  const bool asked = op.step == kAsked;
  op.step = kInjected;
  if (!op.remote) {
    // Straight into place, or into shared memory.
    const Side& src = program_.side(op, 0);
    return copy(rank, index,
                asked && op.partner != kNone ? program_.side(ops_[op.partner], 0) : src, src,
                Rate());
  }
  const Time time = post_time(op);
  account(cores_[rank], Cost::startup, time);
  occupy(rank, Action::post, time);
}

void Simulation::end_send_action(int rank, Index index, Action action) {
  Op& op = ops_[index];
  Core& core = cores_[rank];
  switch (action) {
    case Action::ask:
      op.step = kAsked;
      [[fallthrough]];
    case Action::answer:
      save_history(rank, index);
      notify(index, now_ + notice_time(index));
      break;
    case Action::pass:
      save_history(rank, index);
      notify(index, now_ + hardware_.signal);
      finish(rank, index);
      break;
    case Action::post:
      post(rank, index);
      break;
    case Action::store:
      end_store(rank, index);
      break;
    case Action::stored:
      if (op.left > 0) return store_piece(rank, index);
      account(core, Cost::startup, hardware_.poll / 2);
      occupy(rank, Action::finish, hardware_.poll / 2);
      break;
    case Action::none:
    case Action::finish:
      break;
  }
}

/// Gives the message to the adapter. A queue pair keeps a gap between its messages.
void Simulation::post(int rank, Index index) {
  const Op& op = ops_[index];
  const bool stores = op.bytes <= hardware_.stored_bytes;
  const Time when = std::max(op.time, now_ + (stores ? 0 : hardware_.dma_start));
  if (op.next != kNone && (ops_[op.next].state & kStarted) == 0) {
    ops_[op.next].time = when + hardware_.queue_gap;
  }
  add_sender(rank);
  save_history(rank, index);
  if (stores) {
    cores_[rank].store_until = when;
    store_piece(rank, index);
  } else if (when > now_) {
    events_.add(when, EventKind::hand, index);
  } else {
    hand_over(index);
  }
}

/// The core stores the next piece of the message into the adapter.
void Simulation::store_piece(int rank, Index index) {
  Core& core = cores_[rank];
  const Op& op = ops_[index];
  core.piece = piece_of(op);
  core.store_begin = now_;
  Time time = (goes_to_caller(op) ? hardware_.store_into_caller : hardware_.store).time(core.piece);
  const int weight = members_.weight_of(rank);
  const Residency from =
      memory_.read({program_.side(op, 0), op.bytes, op.bytes - op.left, core.piece}, weight);
  if (from.cached != core.piece) {
    time = std::max(
        {time, hardware_.memory.time(from.memory) + hardware_.fresh.time(from.fresh),
         network_.use_memory(members_.node_of(rank), from.memory + from.fresh, weight, now_) -
             now_});
  }
  account(core, Cost::wire, time);
  occupy(rank, Action::store, time);
}

void Simulation::end_store(int rank, Index index) {
  Core& core = cores_[rank];
  core.untaken = true;
  core.busy = true;
  if (core.store_until > now_) {
    events_.add(core.store_until, EventKind::hand, index);
  } else {
    hand_over(index);
  }
  if (core.untaken) {  // send_piece() continues
    core.action = Action::stored;
    core.action_begin = now_;
    return;
  }
  core.busy = false;
  occupy(rank, Action::stored, 0);
}

/// A message, answer or signal has arrived for the op.
void Simulation::deliver(Index index) {
  Op& op = ops_[index];
  const int rank = op.member;
  op.state |= kArrived;
  if ((op.state & kStarted) == 0) return;
  // For a send itself: the adapter has finished it.
  const bool done = op.kind == OpKind::send && op.step == kInjected;
  if (options_.breakdown && !done) histories_[index] = history_at(op.partner, index);
  add_arrival(rank, index);
  if (!cores_[rank].busy) run_core(rank);
}

void Simulation::continue_send(int rank, Index index) {
  Core& core = cores_[rank];
  if (ops_[index].step == kAsked) return inject(rank, index);
  account(core, Cost::startup, hardware_.poll / 2);
  occupy(rank, Action::finish, hardware_.poll / 2);
}

void Simulation::continue_recv(int rank, Index index) {
  Op& op = ops_[index];
  Core& core = cores_[rank];
  const Time time = op.remote ? hardware_.poll + hardware_.match * (core.awaited - 1) / 2 : 0;
  if (asks_first(op) && op.step != kAsked) {
    op.step = kAsked;
    op.state &= static_cast<std::uint8_t>(~kArrived);
    account(core, Cost::startup, time);
    return occupy(rank, Action::answer, time);
  }
  if (!op.remote && !asks_first(op)) {  // from shared memory
    const Side& side = program_.side(op, 0);
    const Time taken = hardware_.copy_start * side.blocks + hardware_.cached.time(op.bytes);
    memory_.written_by_core(side, op.bytes, members_.weight_of(rank));
    account(core, Cost::copy, taken);
    return occupy(rank, Action::finish, taken);
  }
  account(core, Cost::startup, time);
  const Time further = hardware_.copy_start * (program_.side(op, 0).blocks - 1);
  const Time taken = asks_first(op) ? 0 : hardware_.take.time(op.bytes) + further;
  account(core, Cost::copy, taken);
  occupy(rank, Action::finish, time + taken);
}

/// A piece has arrived at the receiver's adapter.
void Simulation::land_piece(Index recv, std::uint32_t bytes) {
  const Op& op = ops_[recv];
  const int rank = op.member;
  const int sender = ops_[op.partner].member;
  const int node = members_.node_of(rank);
  const int rail = network_.rail_of(sender);
  const Arrival arrival{node, node_number(rank), members_.weight_of(rank)};
  cores_[rank].spread = cores_[sender].spread;
  const Time end = network_.land(arrival, rail, bytes & ~kLastPiece,
                                 adapters_[network_.adapter_of(node, rail)].senders, now_);
  if ((bytes & kLastPiece) == 0) return;
  memory_.moved_by_adapter(program_.side(op, 0), op.bytes);
  if (options_.trace != nullptr) {
    options_.trace->spans.push_back({plan::Activity::message, OpKind::send, op.peer,
                                     op.partner - program_.first_op(op.peer), rank, op.bytes,
                                     ops_[op.partner].time, end});
  }
  if (end > now_) {
    events_.add(end, EventKind::deliver, recv);
  } else {
    deliver(recv);
  }
}

}  // namespace weft::sim
