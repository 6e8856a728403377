// Simulation: actions of the cores, one at a time.
#include <algorithm>
#include <utility>

#include "sim/simulation.hpp"

namespace weft::sim {

using plan::OpKind;

void Simulation::push(OpQueue& queue, Index op) {
  ops_[op].link = kNone;
  (queue.empty() ? queue.head : ops_[queue.tail].link) = op;
  queue.tail = op;
}

Index Simulation::pop(OpQueue& queue) {
  const Index op = queue.head;
  queue.head = ops_[op].link;
  return op;
}

void Simulation::announce(const std::optional<Processors::Turn>& turn) {
  if (!turn) return;
  events_.add(turn->at, EventKind::turn, static_cast<std::uint32_t>(turn->core), turn->number);
}

void Simulation::wait_for_turn(int rank) {
  Core& core = cores_[rank];
  if (core.ready.empty() && core.arrived.empty()) return;
  if (core.asked_at < 0) core.asked_at = now_;
  announce(processors_.request(rank, now_));
}

void Simulation::release_core(int rank) {
  const Core& core = cores_[rank];
  const auto waiting = core.remote > 0 ? Processors::Waiting::network
                       : core.left > 0 ? Processors::Waiting::neighbours
                                       : Processors::Waiting::done;
  announce(processors_.yield(rank, waiting, now_));
}

/// Ready ops go first. Arrivals are handled in batches, each of all that are there at its
/// beginning, as the executor does.
void Simulation::run_core(int rank) {
  if (!processors_.may_run(rank)) return wait_for_turn(rank);
  Core& core = cores_[rank];
  while (!core.busy) {
    if (core.batch == 0 && !core.ready.empty()) {
      begin(rank, pop(core.ready));
    } else if (!core.arrived.empty()) {
      if (core.batch == 0) core.batch = core.arrived_count;
      --core.batch;
      --core.arrived_count;
      handle_arrival(rank, pop(core.arrived));
    } else {
      if (processors_.are_shared()) release_core(rank);
      return;
    }
  }
}

/// Makes `op` current. A core that was idle continues the history of the op that it waited for.
void Simulation::switch_to(Core& core, Index op) {
  if (core.free_at < now_ && options_.breakdown) {
    // A send that its adapter has finished has the history with which it left the core.
    const bool done = ops_[op].kind == OpKind::send && ops_[op].step == kInjected;
    core.history = done ? history_at(op, op) : histories_[op];
    if (!done && core.asked_at >= 0) account(core, Cost::contention, now_ - core.asked_at);
  }
  core.asked_at = -1;
  core.free_at = now_;
  core.current = op;
}

void Simulation::account(Core& core, Cost cost, Time duration) {
  core.history[static_cast<std::size_t>(cost)] += duration;
}

/// Occupies the core with `action` for `duration`.
void Simulation::occupy(int rank, Action action, Time duration) {
  Core& core = cores_[rank];
  core.action = action;
  core.action_begin = now_;
  if (duration == 0) return end_action(rank);
  core.busy = true;
  events_.add(now_ + duration, EventKind::core, static_cast<std::uint32_t>(rank));
}

void Simulation::end_action(int rank) {
  Core& core = cores_[rank];
  const Action action = std::exchange(core.action, Action::none);
  if (action == Action::none) return;
  const Index index = core.current;
  const Op& op = ops_[index];
  core.free_at = now_;
  if (options_.trace != nullptr && now_ > core.action_begin) {
    options_.trace->spans.push_back({plan::Activity::busy, op.kind, rank,
                                     index - program_.first_op(rank), op.peer, op.bytes,
                                     core.action_begin, now_});
  }
  if (action == Action::finish) return finish(rank, index);
  end_send_action(rank, index, action);
}

void Simulation::begin(int rank, Index index) {
  Op& op = ops_[index];
  switch_to(cores_[rank], index);
  op.state |= kStarted;
  cores_[rank].remote += op.remote;
  switch (op.kind) {
    case OpKind::copy:
      copy(rank, index, program_.side(op, 0), program_.side(op, 1), Rate());
      break;
    case OpKind::reduce:
      memory_.read(program_.side(op, 0), op.bytes, members_.weight_of(rank));
      copy(rank, index, program_.side(op, 0), program_.side(op, 1), hardware_.reduce);
      break;
    case OpKind::signal:
      save_history(rank, index);
      notify(index, now_ + hardware_.signal);
      finish(rank, index);
      break;
    case OpKind::wait:
      if ((op.state & kArrived) != 0) finish(rank, index);
      break;
    case OpKind::send:
      begin_send(rank, index);
      break;
    case OpKind::recv:
      begin_recv(rank, index);
      break;
  }
  if (op.next != kNone) release(rank, op.next);
}

void Simulation::handle_arrival(int rank, Index index) {
  const Op& op = ops_[index];
  switch_to(cores_[rank], index);
  if (op.kind == OpKind::send) return continue_send(rank, index);
  if (op.kind == OpKind::recv) return continue_recv(rank, index);
  cores_[rank].spread = 0;  // signals keep the ranks of a node together
  finish(rank, index);
}

/// Something has arrived for an op that has started.
void Simulation::add_arrival(int rank, Index op) {
  Core& core = cores_[rank];
  push(core.arrived, op);
  ++core.arrived_count;
}

void Simulation::release(int rank, Index op) {
  if (--ops_[op].pending > 0) return;
  if (options_.breakdown) histories_[op] = cores_[rank].history;
  push(cores_[rank].ready, op);
}

/// Counts a recv that waits. Of several recvs from one peer only the first counts: a message is
/// compared with no other.
void Simulation::add_waiting(Core& core, Op& recv) {
  if ((recv.state & kBehind) == 0) ++core.awaited;
  if (recv.next != kNone) ops_[recv.next].state |= kBehind;
}

void Simulation::remove_waiting(Core& core, const Op& recv) {
  --core.awaited;
  if (recv.next == kNone) return;
  Op& next = ops_[recv.next];
  next.state &= static_cast<std::uint8_t>(~kBehind);
  if ((next.state & kStarted) != 0) ++core.awaited;
}

void Simulation::finish(int rank, Index op) {
  if (ops_[op].kind == OpKind::recv && ops_[op].remote) remove_waiting(cores_[rank], ops_[op]);
  ops_[op].state = 0;
  cores_[rank].remote -= ops_[op].remote;
  ++finished_;
  --cores_[rank].left;
  for (const Index next : program_.successors(op)) release(rank, next);
}

/// Copies, reduces, or copies the data of a message, at a rate of at most `limit`.
void Simulation::copy(int rank, Index index, const Side& dst, const Side& src, Rate limit) {
  const Op& op = ops_[index];
  const std::uint64_t bytes = op.bytes;
  const int weight = members_.weight_of(rank);
  const Residency from = memory_.read(src, bytes, weight);
  // Reading and writing overlap.
  const std::uint64_t far = from.memory + from.fresh;
  const std::uint64_t fresh =
      from.fresh + std::max(memory_.written_by_core(dst, bytes, weight), far) - far;
  const Time moved = hardware_.cached.time(bytes - from.memory - fresh) +
                     hardware_.memory.time(from.memory) + hardware_.fresh.time(fresh);
  const bool reduces = limit.is_limit();
  const bool calls = hardware_.call > 0 && (dst.is_neighbours || src.is_neighbours);
  const Time start = reduces ? 0 : hardware_.copy_start * std::max<Time>(dst.blocks, src.blocks);
  const Time called = calls ? hardware_.call + hardware_.call_bytes.time(bytes) : 0;
  const Time uncontended =
      start + called + (calls && !reduces ? 0 : std::max(moved, limit.time(bytes)));
  const int node = members_.node_of(rank);
  Time end = now_ + uncontended;
  if (from.memory + fresh > 0) {
    end = std::max(end, network_.use_memory(node, from.memory + fresh, weight, now_));
  }
  account(cores_[rank], Cost::contention, end - now_ - uncontended);
  account(cores_[rank], reduces ? Cost::reduction : Cost::copy, uncontended);
  occupy(rank, op.kind == OpKind::send ? Action::pass : Action::finish, end - now_);
}

}  // namespace weft::sim
