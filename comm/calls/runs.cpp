// Running calls: at once, or as requests.
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

/// As all ranks know alike: whether a scatter or gather of blocks that differ moves something only
/// its root knows.
bool moves_nothing(const comm::Task& task) {
  const Problem& problem = task.problem;
  if (problem.collective == Collective::barrier || task.irregular) return false;
  if (problem.collective == Collective::alltoallv) return false;
  const auto is_empty = [](const plan::Block& block) { return block.bytes == 0; };
  return problem.layout.empty() ? problem.block_bytes == 0
                                : std::ranges::all_of(problem.layout, is_empty);
}

/// Whether a part of its result takes that part of the inputs and no more.
bool is_elementwise(const Problem& problem) {
  return is_reduction(problem.collective) && !has_blocks_of_all(problem.collective);
}

/// The input of a call in place, copied to `aside`, out of the way of its output.
const std::byte* set_aside(const std::byte* input, std::uint64_t bytes,
                           std::vector<std::byte>& aside) {
  if (bytes == 0) return input;
  if (aside.size() < bytes) aside.resize(bytes);
  copy_bytes(aside.data(), input, bytes);
  return aside.data();
}

}  // namespace

template <class Each>
void Communicator::Impl::for_each_slice(const Call& call, const comm::Task& task,
                                        const std::byte* input, Each each) {
  Statistics::Entry& entry = entries_[call.entry];
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

const comm::Task& Communicator::Impl::publish(const Call& call, const comm::Task& task,
                                              comm::HeapCopies& copies) {
  if (!resources_.sees_only_heaps() || !call.reads_peers) return task;
  const std::uint64_t input_bytes = call.problem.input_bytes(rank());
  if (!copies.copy_in(task, input_bytes, call.problem.output_bytes(rank()))) {
    resources_.poison_all("the shared heap has no room for copies of its buffers");
  }
  return copies.task();
}

void Communicator::Impl::run_prepared(const engine::Prepared& prepared,
                                      const engine::Buffers& buffers) {
  if (!resources_.executor().run(prepared, buffers)) resources_.require_no_failure();
}

void Communicator::Impl::run(const comm::Task& task) {
  if (moves_nothing(task)) return;
  if (resources_.members().is_poisoned() || resources_.requests().thread_may_run()) {
    return run_exclusively(task);
  }
  run_now(task);
}

void Communicator::Impl::fail(std::string_view why) {
  resources_.members().require_no_poison();
  const auto exclusive = resources_.requests().exclusive();
  resources_.poison_all(why);
}

bool Communicator::Impl::close() noexcept {
  const auto exclusive = resources_.requests().exclusive();
  return resources_.close();
}

/// Apart, so that calls without a progress thread are not longer for it.
void Communicator::Impl::run_exclusively(const comm::Task& task) {
  resources_.members().require_no_poison();
  const auto exclusive = resources_.requests().exclusive();
  run_now(task);
}

void Communicator::Impl::run_now(const comm::Task& asked) {
  const Call& call = *call_for(asked);
  const std::uint64_t begin = comm::Stopwatch::ticks();
  Statistics::Entry& entry = entries_[call.entry];
  if (call.is_plain && !asked.in_place) {
    run_prepared(*call.slice, {asked.input, asked.output, &asked.operation});
    entry.messages += call.slice->messages;
    entry.wire_bytes += call.slice->wire_bytes;
  } else {
    const comm::Task& task = publish(call, asked, copies_);
    const bool by_slices = task.in_place && is_elementwise(task.problem);
    const bool at_once = task.in_place && !by_slices;
    const std::byte* input = at_once ? set_aside(task.input, call.input_bytes, aside_) : task.input;
    for_each_slice(call, task, input, [&](const auto& prepared, engine::Buffers buffers) {
      if (by_slices) {
        buffers.input = set_aside(buffers.input, prepared.program.input_bytes(), aside_);
      }
      run_prepared(prepared, buffers);
    });
    copies_.copy_out();
  }
  ++entry.calls;
  entry.bytes += call.input_bytes;
  const std::uint64_t end = comm::Stopwatch::ticks();
  ticks_[call.entry] += end - begin;
  resources_.host_progress().after_call(end);
}

std::unique_ptr<Request::Impl> Communicator::Impl::request(const comm::Task& task) {
  const auto exclusive = resources_.requests().exclusive();
  auto request = std::make_unique<Request::Impl>(Request::Impl{*this, task, nullptr, {}, {}, {}});
  if (!moves_nothing(task)) request->call = call_for(task);
  request->task.sends = request->task.receives = {};  // they may go now
  return request;
}

void Communicator::Impl::start(Request::Impl& request) {
  resources_.members().require_no_poison();
  if (request.call == nullptr) return;
  if (wants_thread_) start_thread();
  comm::RequestProgress& requests = resources_.requests();
  const auto exclusive = requests.exclusive();
  const Call& call = *request.call;
  const comm::Task& task = publish(call, request.task, request.copies);
  const std::byte* input =
      task.in_place ? set_aside(task.input, call.input_bytes, request.aside) : task.input;
  for_each_slice(call, task, input, [&](const auto& prepared, const engine::Buffers& buffers) {
    engine::Execution* execution = resources_.executor().start(prepared, buffers);
    resources_.require_no_failure();
    if (request.under_way.empty()) requests.add();
    request.under_way.push_back(execution);
  });
  Statistics::Entry& entry = entries_[call.entry];
  ++entry.calls;
  entry.bytes += call.input_bytes;
  requests.wake_thread();
}

/// Without it requests move on in the caller's calls.
void Communicator::Impl::start_thread() {
  try {
    resources_.requests().start_thread();
  } catch (const std::system_error& refused) {
    resources_.members().note(fmt::format("no progress thread: {}", refused.what()));
    wants_thread_ = false;
  }
}

void Communicator::Impl::end(Request::Impl& request) noexcept {
  request.under_way.clear();
  resources_.requests().remove();
}

bool Communicator::Impl::test(Request::Impl& request) {
  const auto exclusive = resources_.requests().exclusive();
  engine::Executor& executor = resources_.executor();
  executor.progress();
  std::erase_if(request.under_way,
                [&](engine::Execution* execution) { return executor.take(*execution); });
  const bool is_over = request.under_way.empty();
  if (is_over) end(request);
  resources_.require_no_failure();
  if (is_over) request.copies.copy_out();
  resources_.host_progress().after_call(comm::Stopwatch::ticks());
  return is_over;
}

void Communicator::Impl::wait(Request::Impl& request) {
  const auto exclusive = resources_.requests().exclusive();
  for (engine::Execution* execution : request.under_way) {
    if (!resources_.executor().wait(*execution)) break;
  }
  end(request);
  resources_.require_no_failure();
  request.copies.copy_out();
}

Statistics Communicator::Impl::statistics() const {
  const auto exclusive = resources_.requests().exclusive();
  Statistics result;
  resources_.report(result);
  result.profile = choice_.profile_name();
  result.entries = entries_;
  for (std::size_t i = 0; i < ticks_.size(); ++i) {
    result.entries[i].seconds = stopwatch_.seconds(ticks_[i]);
  }
  result.aside_bytes = aside_.capacity();
  return result;
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
