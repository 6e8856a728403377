// Requests: calls that are started, and end later.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "comm/calls/slices.hpp"

namespace weft {

std::unique_ptr<Request::Impl> Communicator::Impl::request(const comm::Task& task) {
  if (checks_calls()) check(task);
  const auto exclusive = resources_.requests().exclusive();
  auto request =
      std::make_unique<Request::Impl>(Request::Impl{*this, task, nullptr, {}, {}, {}, {}});
  usage_.begin();
  if (!comm::moves_nothing(task)) request->call = calls_.call_for(task);
  request->task.sends = request->task.receives = {};  // they may go now
  return request;
}

void Communicator::Impl::start(Request::Impl& request) {
  resources_.members().require_no_poison();
  if (request.call == nullptr) return;
  if (wants_thread_) start_thread();
  comm::RequestProgress& requests = resources_.requests();
  const auto exclusive = requests.exclusive();
  resources_.executor().arrive(usage_.begin());
  const Call& call = *request.call;
  const comm::Task& task = comm::publish(resources_, call, request.task, request.copies);
  const std::byte* input =
      task.in_place ? comm::set_aside(task.input, call.input_bytes, request.aside) : task.input;
  resources_.executor().begin_call(call.key);
  request.tag = resources_.executor().tag();
  comm::Counts& counts = usage_.at(call.entry);
  const auto begin = [&](const auto& prepared, const engine::Buffers& buffers) {
    engine::Execution* execution = resources_.executor().start(prepared, buffers);
    resources_.require_no_failure();
    if (request.under_way.empty()) requests.add();
    request.under_way.push_back(execution);
  };
  comm::for_each_slice(call, task, input, counts, begin);
  ++counts.calls;
  counts.bytes += call.input_bytes;
  usage_.end_part(counts);
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
  resources_.executor().leave(request.tag, comm::Stopwatch::ticks());
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
  usage_.begin();
  for (engine::Execution* execution : request.under_way) {
    if (!resources_.executor().wait(*execution)) break;
  }
  end(request);
  resources_.require_no_failure();
  request.copies.copy_out();
  usage_.end_part(usage_.at(request.call->entry));
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
