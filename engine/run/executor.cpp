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
      counts_(node == nullptr ? 1 : node->places()),
      completed_(counts_.size()) {
  spare_.push_back(std::make_unique<Execution>(*this));
  // The first call that has to wait allocates no more than the others.
  under_way_.reserve(2);
  done_.reserve(2);
  if (node_ == nullptr) return;
  node_->set_copy_by_owner(
      [this](int place, const verbs::Layout& ours, const verbs::Layout& theirs, bool writes) {
        return copy_by_owner(place, ours, theirs, writes);
      });
}

Executor::~Executor() {
  if (node_ != nullptr) node_->set_copy_by_owner({});
}

/// Assigns an execution, neither queued nor entered yet: the last of spare_. Allocates nothing
/// where there is a spare one.
Execution& Executor::assign(const Prepared& prepared, const Buffers& buffers, bool is_run,
                            std::uint64_t number) {
  if (spare_.empty()) {
    spare_.push_back(std::make_unique<Execution>(*this));
    done_.reserve(done_.size() + under_way_.size() + 1);
  }
  Execution& execution = *spare_.back();
  if (!execution.has(capacity_version_)) execution.reserve(capacity_, capacity_version_);
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
  count(spare_.back()->prepared().program);
  under_way_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

/// Makes the new execution send and signal to each peer after the earlier ones: both ends match
/// these in the order of the calls.
void Executor::order_behind_earlier(Execution& later) {
  const Program& program = later.prepared().program;
  const auto follow = [&](std::uint32_t first, auto last_in) {
    for (std::size_t i = under_way_.size() - 1; first != kNone && i-- > 0;) {
      Execution& earlier = *under_way_[i];
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

/// The rules 1 and 2 at the head of executor.hpp.
bool Executor::may_enter(const Execution& execution) noexcept {
  if (execution.number() >= oldest() + 2) return false;
  const Program& program = execution.prepared().program;
  if (node_ == nullptr || !(program.uses_stage() || program.signals())) return true;
  return has_room(program.uses_stage() || program.uses_peer_buffers(), execution.number());
}

/// Rule 2 there. `is_shared`: it touches stages or neighbours' buffers.
bool Executor::has_room(bool is_shared, std::uint64_t number) noexcept {
  const std::uint64_t ahead = is_shared ? 2 : node_->ahead();
  if (number <= ahead) return true;
  // Conditions a and b there: the counts need not be read.
  const bool is_only = oldest() == started_;
  if (is_only && entered_.heard_all && entered_.was_run[number & 1]) return true;
  for (int place = 0; place < node_->places(); ++place) {
    if (place == node_->place() || completed_[place] + ahead >= number) continue;
    completed_[place] = node_->completed_by(place);
    if (completed_[place] + ahead < number) return false;
  }
  return true;
}

bool Executor::enter(Execution& execution) noexcept {
  const Prepared& prepared = execution.prepared();
  entered_.was_run[execution.number() & 1] = execution.is_run();
  entered_.heard_all = prepared.program.hears_all_places();
  if (!register_buffers(execution)) return false;
  if (node_ != nullptr) {
    node_->enter(execution.number(), execution.tag(), execution.buffers().input,
                 execution.buffers().output, last_call_.arrived);
  }
  // Of two executions that have entered, the later one gets the slot that the other does not use.
  const bool is_first = under_way_.empty() || under_way_.front().get() == &execution;
  const std::size_t slot = is_first ? 0 : under_way_.front()->scratch_slot() ^ 1;
  execution.enter(slot, scratch_.memory(slot), scratch_.key(slot));
  return true;
}

std::uint64_t Executor::waited(std::uint64_t ticks) const noexcept {
  if (node_ == nullptr) return 0;
  const auto within =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks >> kStampShift, UINT32_MAX / 2));
  return std::uint64_t{node_->last_arrival(started_, last_call_.arrived, within)} << kStampShift;
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
  for (const auto& execution : under_way_) {
    if (!execution->has_entered()) {
      if (!may_enter(*execution)) break;
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
  if (some_done) retire_done();
  return moved || some_done;
}

bool Executor::is_left_to_caller(const Execution& execution) const noexcept {
  if (!is_away_) return false;
  const Operation* operation = execution.buffers().operation;
  return operation != nullptr && operation->only_in_calls;
}

void Executor::retire_done() noexcept {
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    if (!(*at)->is_done() || !(*at)->has_entered()) {
      ++at;
      continue;
    }
    done_.push_back(std::move(*at));
    at = under_way_.erase(at);
  }
  end_turn();
}

/// After an execution is done and no longer under way.
void Executor::end_turn() noexcept {
  if (node_ != nullptr) {
    node_->complete(under_way_.empty() ? started_ : under_way_.front()->number() - 1);
  }
  if (!under_way_.empty()) return;
  scratch_.release_outgrown();
  if (registered_) links_.registrations()->release();
  registered_ = false;
}

Execution& Executor::begin(const Prepared& prepared, const Buffers& buffers, bool is_run) {
  if (!under_way_.empty()) scratch_.provide_second();
  Execution& execution = assign(prepared, buffers, is_run, ++started_);
  execution.queue();
  enqueue();
  if (under_way_.size() > 1) order_behind_earlier(execution);
  return execution;
}

/// Runs an execution with no other under way, without queues as far as that goes. Null when it is
/// done.
Execution* Executor::run_through(const Prepared& prepared, const Buffers& buffers) {
  Execution& execution = assign(prepared, buffers, true, ++started_);
  if (!may_enter(execution)) {
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
    if (!under_way_.empty()) return wait(begin(prepared, buffers, true));
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

bool Executor::take(Execution& execution) noexcept {
  for (auto& one : done_) {
    if (one.get() != &execution) continue;
    std::swap(one, done_.back());
    spare_.push_back(std::move(done_.back()));
    done_.pop_back();
    return true;
  }
  return false;
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
