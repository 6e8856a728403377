#include "engine/run/executor.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::engine {

Executor::Executor(int rank, NodeControl* node, bool crowded, Links& links, WhileWaiting meanwhile,
                   std::int64_t timeout_ns)
    : rank_(rank),
      node_(node),
      crowded_(crowded),
      links_(links),
      meanwhile_(std::move(meanwhile)),
      timeout_ns_(timeout_ns),
      scratch_(links),
      executions_(*this),
      entry_(node),
      counts_(node == nullptr ? 1 : node->places()) {
  if (node_ == nullptr) return;
  node_->set_copy_by_owner(
      [this](int place, const verbs::Layout& ours, const verbs::Layout& theirs, bool writes) {
        return copy_by_owner(place, ours, theirs, writes);
      });
}

Executor::~Executor() {
  if (node_ != nullptr) node_->set_copy_by_owner({});
}

/// Assigns an execution, neither queued nor entered yet: the last spare one.
Execution& Executor::assign(const Prepared& prepared, const Buffers& buffers, bool is_run,
                            std::uint64_t number) {
  Execution& execution = executions_.spare();
  post_call(prepared.call);
  execution.assign(prepared, buffers, number, last_call_.tag, is_run, counts_, stages_);
  return execution;
}

void Executor::count(const Program& program) noexcept {
  const auto counts = program.counts();
  for (std::size_t place = 0; place < counts_.size(); ++place) counts_[place].add(counts[place]);
}

/// Puts the execution assigned last, which has copied the counts so far, under way.
void Executor::enqueue() {
  count(executions_.last_spare().prepared().program);
  executions_.put_under_way();
}

/// Makes the new execution send and signal to each peer after the earlier ones: both ends match
/// these in the order of the calls.
void Executor::order_behind_earlier(Execution& later) {
  const Program& program = later.prepared().program;
  const auto& under_way = executions_.under_way();
  const auto follow = [&](std::uint32_t first, auto last_in) {
    for (std::size_t i = under_way.size() - 1; first != kNone && i-- > 0;) {
      Execution& earlier = *under_way[i];
      const std::uint32_t last = last_in(earlier.prepared().program);
      if (last == kNone) continue;
      earlier.let_follow(last, later, first);
      return;  // the earlier one follows those before it
    }
  };
  for (std::size_t peer = 0; peer < program.peers().size(); ++peer) {
    const int rank = program.peers()[peer];
    const auto last_of = [rank](const Program& earlier, std::span<const Program::Ends> ends) {
      const auto found = std::ranges::lower_bound(earlier.peers(), rank);
      if (found == earlier.peers().end() || *found != rank) return kNone;
      return ends[static_cast<std::size_t>(found - earlier.peers().begin())].last;
    };
    follow(program.send_ends()[peer].first,
           [&](const Program& earlier) { return last_of(earlier, earlier.send_ends()); });
    follow(program.recv_ends()[peer].first,
           [&](const Program& earlier) { return last_of(earlier, earlier.recv_ends()); });
  }
  for (std::size_t place = 0; place < program.signal_ends().size(); ++place) {
    follow(program.signal_ends()[place].first,
           [place](const Program& earlier) { return earlier.signal_ends()[place].last; });
  }
}

bool Executor::enter(Execution& execution) noexcept {
  const Prepared& prepared = execution.prepared();
  entry_.enter(execution.number(), execution.is_run(), prepared.program.hears_all_places());
  if (!register_buffers(execution)) return false;
  if (node_ != nullptr) {
    node_->enter(execution.number(), execution.tag(), execution.buffers().input,
                 execution.buffers().output, last_call_.arrived);
  }
  // Of two executions that have entered, the later one gets the slot that the other does not use.
  const auto& under_way = executions_.under_way();
  const bool is_first = under_way.empty() || under_way.front().get() == &execution;
  const std::size_t slot = is_first ? 0 : under_way.front()->scratch_slot() ^ 1;
  execution.enter(slot, scratch_.memory(slot), scratch_.key(slot));
  return true;
}

std::uint64_t Executor::waited(std::uint64_t ticks) const noexcept {
  if (node_ == nullptr) return 0;
  const auto within =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks >> kStampShift, UINT32_MAX / 2));
  return std::uint64_t{node_->last_arrival(entry_.last(), last_call_.arrived, within)}
         << kStampShift;
}

/// Registers buffers as a whole. One that the adapter refuses keeps keys of 0: its bytes go through
/// bounce memory.
bool Executor::register_buffers(Execution& execution) noexcept {
  const Prepared& prepared = execution.prepared();
  if (!prepared.registers) return true;
  const Buffers& buffers = execution.buffers();
  const auto enter = [&](std::uint32_t base, const std::byte* memory, std::uint64_t bytes) {
    if (prepared.registering[base] != Registering::whole) return;
    const auto keys = register_memory(memory, bytes);
    execution.set_keys(base, keys.lkey, keys.rkey);
  };
  enter(0, buffers.input, prepared.program.input_bytes());
  enter(1, buffers.output, prepared.program.output_bytes());
  return failure_.empty();
}

verbs::RegistrationCache::Keys Executor::register_memory(const std::byte* memory,
                                                         std::uint64_t bytes) noexcept {
  verbs::RegistrationCache::Keys keys;
  registered_ = true;
  try {
    links_.registrations()->acquire(memory, bytes, keys);
  } catch (const std::exception& error) {
    poison(error.what());
  }
  return keys;
}

bool Executor::progress() noexcept {
  if (node_ != nullptr) node_->helper_copy(node_->place()).serve();
  bool moved = false;
  bool some_done = false;
  for (const auto& execution : executions_.under_way()) {
    if (!execution->has_entered()) {
      if (!entry_.may_enter(execution->number(), oldest(), execution->prepared().program)) break;
      if (!enter(*execution)) return true;
      execution->release_initial();
      moved = true;
    }
    if (is_left_to_caller(*execution)) continue;
    execution->advance();
    if (execution->progress()) {
      execution->advance();
      moved = true;
    }
    if (!failure_.empty()) return true;
    some_done |= execution->is_done();
  }
  if (!some_done) return moved;
  executions_.retire_done();
  end_turn();
  return true;
}

bool Executor::is_left_to_caller(const Execution& execution) const noexcept {
  if (!is_away_) return false;
  const Operation* operation = execution.buffers().operation;
  return operation != nullptr && operation->only_in_calls;
}

/// After an execution is done and no longer under way.
void Executor::end_turn() noexcept {
  const std::uint64_t completed = is_idle() ? entry_.last() : oldest() - 1;
  if (node_ != nullptr) node_->complete(completed);
  if (!is_idle()) return;
  scratch_.release_outgrown();
  if (registered_) links_.registrations()->release();
  registered_ = false;
}

Execution& Executor::begin(const Prepared& prepared, const Buffers& buffers, bool is_run) {
  if (!is_idle()) scratch_.provide_second();
  Execution& execution = assign(prepared, buffers, is_run, entry_.next());
  execution.queue();
  enqueue();
  if (executions_.under_way().size() > 1) order_behind_earlier(execution);
  return execution;
}

/// Runs an execution with no other under way, without queues as far as that goes. Null when it is
/// done.
Execution* Executor::run_through(const Prepared& prepared, const Buffers& buffers) {
  Execution& execution = assign(prepared, buffers, true, entry_.next());
  if (!entry_.may_enter(execution.number(), execution.number(), prepared.program)) {
    execution.queue();
  } else if (enter(execution)) {
    execution.run_through(crowded_ ? 0 : kLooks);
  }
  if (!execution.has_entered() || !execution.is_done() || !failure_.empty()) {
    enqueue();
    return &execution;
  }
  count(prepared.program);
  end_turn();
  return nullptr;
}

bool Executor::run_steps(const Prepared& prepared, const Buffers& buffers) noexcept {
  if (!failure_.empty()) return false;
  if (links_.is_troubled()) links_.poll_device();
  has_waited_ = true;
  try {
    if (!is_idle()) return wait(begin(prepared, buffers, true));
    Execution* rest = run_through(prepared, buffers);
    return rest == nullptr || wait(*rest);
  } catch (const std::exception& error) {
    poison(error.what());
    return false;
  }
}

Execution* Executor::start(const Prepared& prepared, const Buffers& buffers) {
  if (!failure_.empty()) return nullptr;
  if (links_.is_troubled()) links_.poll_device();
  Execution& execution = begin(prepared, buffers, false);
  progress();
  return &execution;
}

bool Executor::wait(Execution& execution) noexcept {
  wait_.turns = 0;
  while (!take(execution)) {
    if (!failure_.empty()) return false;
    if (progress()) {
      wait_.turns = 0;
    } else if (!idle()) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::engine
