// Running tasks: at once, or as requests.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/copy_bytes.hpp"
#include "base/error.hpp"
#include "comm/calls/impl.hpp"

namespace weft {

using plan::Collective;
using plan::Problem;

namespace {

// A tenth of a millisecond, a few where the counter is slow.
constexpr std::uint64_t kTicksPerMove = 1 << 18;

/// All ranks know it then: of a scatter or gather whose blocks differ only its root knows.
bool moves_nothing(const comm::Task& task) {
  const Problem& problem = task.problem;
  if (problem.collective == Collective::barrier || task.irregular) return false;
  if (problem.collective == Collective::alltoallv) return false;
  const auto is_empty = [](const plan::Block& block) { return block.bytes == 0; };
  return problem.layout.empty() ? problem.block_bytes == 0
                                : std::ranges::all_of(problem.layout, is_empty);
}

/// A part of its result takes that part of the inputs and no more.
bool is_elementwise(const Problem& problem) {
  return is_reduction(problem.collective) && !has_blocks_of_all(problem.collective);
}

}  // namespace

const std::byte* Communicator::Impl::set_aside(const std::byte* input, std::uint64_t bytes,
                                               std::vector<std::byte>& aside) {
  if (bytes == 0) return input;
  if (aside.size() < bytes) aside.resize(bytes);
  copy_bytes(aside.data(), input, bytes);
  return aside.data();
}

template <class Each>
void Communicator::Impl::for_each_slice(const Call& call, const comm::Task& task,
                                        const std::byte* input, Each each) {
  Statistics::Entry& entry = statistics_.entries[call.entry];
  std::uint64_t at = 0;
  do {
    const bool last = call.problem.block_bytes - at < call.slice_bytes && call.rest.has_value();
    const engine::Prepared& prepared = last ? *call.rest : *call.slice;
    // Offsets from null pointers, of ranks that have no such buffer, stay null.
    each(prepared,
         engine::Buffers{input == nullptr ? nullptr : input + at,
                         task.output == nullptr ? nullptr : task.output + at, &task.operation});
    entry.messages += prepared.messages;
    entry.wire_bytes += prepared.wire_bytes;
    at += call.slice_bytes;
  } while (at < call.problem.block_bytes && call.slice_bytes != 0);
}

const comm::Task& Communicator::Impl::visible(const Call& call, const comm::Task& task,
                                              comm::HeapCopies& copies) {
  if (!only_heaps_ || !call.reads_peers) return task;
  if (!copies.take(task, call.problem.input_bytes(rank_), call.problem.output_bytes(rank_))) {
    executor_->give_up(
        fmt::format("rank {}: the shared heap has no room for copies of its buffers", rank_));
    require_no_failure();
  }
  return copies.task();
}

void Communicator::Impl::run_prepared(const engine::Prepared& prepared,
                                      const engine::Buffers& buffers) {
  if (executor_->run(prepared, buffers)) return;
  break_for(executor_->failure());
  throw PeerError(broken_);
}

void Communicator::Impl::run(const comm::Task& asked) {
  if (moves_nothing(asked)) return;
  if (must_look_) return look_and_run(asked);
  const Call& call = *call_for(asked);
  const std::uint64_t begin = comm::Stopwatch::ticks();
  Statistics::Entry& entry = statistics_.entries[call.entry];
  if (call.is_plain && !asked.in_place) {
    run_prepared(*call.slice, {asked.input, asked.output, &asked.operation});
    entry.messages += call.slice->messages;
    entry.wire_bytes += call.slice->wire_bytes;
  } else {
    const comm::Task& task = visible(call, asked, copies_);
    const bool by_slices = task.in_place && is_elementwise(task.problem);
    const bool at_once = task.in_place && !by_slices;
    const std::byte* input = at_once ? set_aside(task.input, call.input_bytes, aside_) : task.input;
    for_each_slice(call, task, input, [&](const auto& prepared, engine::Buffers buffers) {
      if (by_slices) {
        buffers.input = set_aside(buffers.input, prepared.program.input_bytes(), aside_);
      }
      run_prepared(prepared, buffers);
    });
    copies_.put_back();
  }
  ++entry.calls;
  entry.bytes += call.input_bytes;
  const std::uint64_t end = comm::Stopwatch::ticks();
  ticks_[call.entry] += end - begin;
  move_host_on(end, 0);
}

bool Communicator::Impl::move_host_on(std::uint64_t now, std::uint64_t early) {
  if (now + early < host_moves_at_) return false;
  host_moves_at_ = now + kTicksPerMove;
  bootstrap_->progress();
  return true;
}

/// Moving MPI on gives the core away where ranks share cores, and all others wait for this rank's
/// next turn then. While it waits itself that costs nothing.
bool Communicator::Impl::move_host_on_meanwhile() {
  return move_host_on(comm::Stopwatch::ticks(), kTicksPerMove / 2);
}

/// The way of other calls is not to be longer for a thread that is not there.
void Communicator::Impl::look_and_run(const comm::Task& asked) {
  if (!broken_.empty()) throw PeerError(broken_);
  const auto hold = alone();
  struct Looked {
    bool& must;
    explicit Looked(bool& must_look) : must(must_look) { must = false; }
    ~Looked() { must = true; }
  };
  const Looked looked(must_look_);
  run(asked);
}

std::unique_ptr<Request::Impl> Communicator::Impl::request(const comm::Task& task) {
  const auto hold = alone();
  auto request = std::make_unique<Request::Impl>(Request::Impl{*this, task, nullptr, {}, {}, {}});
  if (!moves_nothing(task)) request->call = call_for(task);
  request->task.sends = request->task.receives = {};  // they may go now
  return request;
}

void Communicator::Impl::start(Request::Impl& request) {
  if (!broken_.empty()) throw PeerError(broken_);
  if (request.call == nullptr) return;
  if (settings_.progress_thread && thread_ == nullptr) start_thread();
  const auto hold = alone();
  const Call& call = *request.call;
  const comm::Task& task = visible(call, request.task, request.copies);
  const std::byte* input =
      task.in_place ? set_aside(task.input, call.input_bytes, request.aside) : task.input;
  for_each_slice(call, task, input, [&](const auto& prepared, const engine::Buffers& buffers) {
    engine::Execution* execution = executor_->start(prepared, buffers);
    require_no_failure();
    if (request.under_way.empty()) ++under_way_;
    request.under_way.push_back(execution);
  });
  Statistics::Entry& entry = statistics_.entries[call.entry];
  ++entry.calls;
  entry.bytes += call.input_bytes;
  if (thread_ == nullptr) return;
  must_look_ = true;
  thread_->wake();
}

/// Without it collectives move on in the caller's calls.
void Communicator::Impl::start_thread() {
  try {
    thread_ = std::make_unique<comm::ProgressThread>(*executor_, !crowded_);
  } catch (const std::system_error& refused) {
    statistics_.notes.push_back(fmt::format("no progress thread: {}", refused.what()));
    settings_.progress_thread = false;
  }
}

void Communicator::Impl::begin(std::optional<comm::Meeting>& meeting) {
  if (under_way_ == 0) return;
  try {
    meeting.emplace(thread_.get(), *executor_, !crowded_);
  } catch (const std::system_error& refused) {
    statistics_.notes.push_back(fmt::format("no thread for requests: {}", refused.what()));
  }
}

std::vector<std::string> Communicator::Impl::allgather(std::string_view mine) {
  std::optional<comm::Meeting> meeting;
  begin(meeting);
  return bootstrap_->allgather(mine);
}

std::vector<std::string> Communicator::Impl::exchange(std::span<const int> peers,
                                                      std::span<const std::string> mine) {
  std::optional<comm::Meeting> meeting;
  begin(meeting);
  return bootstrap_->exchange(peers, mine);
}

std::unique_lock<comm::ProgressThread> Communicator::Impl::alone() const {
  if (thread_ == nullptr) return {};
  return std::unique_lock(*thread_);
}

void Communicator::Impl::forget_started(Request::Impl& request) noexcept {
  request.under_way.clear();
  if (--under_way_ != 0 || thread_ == nullptr) return;
  thread_->rest();
  must_look_ = !broken_.empty();
}

void Communicator::Impl::require_no_failure() {
  if (executor_->failure().empty()) return;
  break_for(executor_->failure());
  throw PeerError(broken_);
}

bool Communicator::Impl::test(Request::Impl& request) {
  const auto hold = alone();
  executor_->progress();
  std::erase_if(request.under_way,
                [this](engine::Execution* execution) { return executor_->take(*execution); });
  const bool is_over = request.under_way.empty();
  if (is_over) forget_started(request);
  require_no_failure();
  if (is_over) request.copies.put_back();
  move_host_on(comm::Stopwatch::ticks(), 0);
  return is_over;
}

void Communicator::Impl::wait(Request::Impl& request) {
  const auto hold = alone();
  for (engine::Execution* execution : request.under_way) {
    if (!executor_->wait(*execution)) break;
  }
  forget_started(request);
  require_no_failure();
  request.copies.put_back();
}

Request::Request(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Request::Request(Request&&) noexcept = default;

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    Request ended(std::move(*this));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

Request::~Request() {
  try {
    if (impl_ != nullptr) wait();
  } catch (const std::exception&) {
    // The communicator keeps the failure: its next call says it.
  }
}

void Request::start() {
  if (!impl_->under_way.empty()) {
    throw_usage("a {} request was started that is under way",
                to_string(impl_->task.problem.collective));
  }
  impl_->home.start(*impl_);
}

bool Request::test() {
  return impl_->under_way.empty() || impl_->home.test(*impl_);
}

void Request::wait() {
  if (!impl_->under_way.empty()) impl_->home.wait(*impl_);
}

}  // namespace weft
