// Simulation: the loop over events, and the result.
#include "sim/simulation.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::sim {

namespace {
constexpr std::uint64_t kEventsPerLook = 1 << 18;  // about 50 ms
}  // namespace

Simulation::Simulation(Program& program, const Members& members, const hierarchy::Machine& machine,
                       const Hardware& hardware, const Options& options)
    : program_(program),
      ops_(program.ops()),
      members_(members),
      machine_(machine),
      options_(options),
      network_(machine, members, hardware),
      memory_(program, members, hardware.adapter, hardware.node.cache_bytes),
      processors_(machine, members.by_class() ? Host() : hardware.host),
      cores_(static_cast<std::size_t>(members.size())),
      adapters_(static_cast<std::size_t>(network_.adapters())),
      histories_(options.breakdown ? program.op_count() : 0),
      hardware_(hardware) {}

bool Simulation::run() {
  for (int rank = 0; rank < members_.size(); ++rank) {
    Core& core = cores_[rank];
    core.left = program_.first_op(rank + 1) - program_.first_op(rank);
    for (Index op = program_.first_op(rank); op < program_.first_op(rank + 1); ++op) {
      if (ops_[op].pending == 0) push(core.ready, op);
    }
    core.busy = true;
    events_.add(0, EventKind::core, static_cast<std::uint32_t>(rank));
  }
  for (std::uint64_t events = 1; !events_.empty(); ++events) {
    const Event event = events_.take();
    now_ = event.time;
    handle(event);
    if (events % kEventsPerLook == 0 && options_.progress) {
      options_.progress(finished_, program_.op_count());
    }
  }
  return std::ranges::none_of(cores_, [](const Core& core) { return core.left > 0; });
}

void Simulation::handle(const Event& event) {
  const auto number = static_cast<int>(event.subject);
  switch (event.kind()) {
    case EventKind::core:
      cores_[number].busy = false;
      end_action(number);
      run_core(number);
      break;
    case EventKind::hand:
      hand_over(event.subject);
      break;
    case EventKind::adapter:
      adapters_[number].waits = false;
      serve(number);
      break;
    case EventKind::sender:
      cores_[number].parked = false;
      offer(number);
      break;
    case EventKind::quiet:
      remove_sender(number, now_);
      break;
    case EventKind::landed:
      land_piece(event.subject, event.bytes);
      break;
    case EventKind::deliver:
      deliver(event.subject);
      break;
    case EventKind::turn:
      if (const int rank = processors_.begin(number, event.bytes, now_); rank >= 0) run_core(rank);
      break;
  }
}

Result Simulation::result() const {
  Result result;
  result.messages = program_.messages;
  result.wire_bytes = program_.wire_bytes;
  result.events = events_.count();
  result.simulated = members_.size();
  const Core* last = nullptr;
  for (const Core& core : cores_) {
    result.finish_ns.push_back(to_ns(core.free_at));
    if (last == nullptr || core.free_at > last->free_at) last = &core;
  }
  result.time_ns = to_ns(last->free_at);
  for (std::size_t cost = 0; cost < kCosts; ++cost) {
    result.breakdown_ns[cost] = to_ns(last->history[cost]);
  }
  return result;
}

void Simulation::report_deadlock() const {
  constexpr int kShown = 4;
  std::string text;
  int shown = 0;
  for (int rank = 0; rank < members_.size() && shown < kShown; ++rank) {
    for (Index op = program_.first_op(rank); op < program_.first_op(rank + 1); ++op) {
      if ((ops_[op].state & kStarted) == 0) continue;
      text += fmt::format("; rank {} at its op {} ({} {})", members_.rank_of(rank),
                          op - program_.first_op(rank), to_string(ops_[op].kind), ops_[op].peer);
      ++shown;
      break;
    }
  }
  throw_usage("simulation: deadlock after {} ns: {} ranks are not done{}", to_ns(now_),
              std::ranges::count_if(cores_, [](const Core& core) { return core.left > 0; }), text);
}

}  // namespace weft::sim
