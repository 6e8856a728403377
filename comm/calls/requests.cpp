// Requests: calls that are started, and end later.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "comm/calls/impl.hpp"
#include "comm/calls/slices.hpp"

namespace weft {

std::unique_ptr<Request::Impl> Communicator::Impl::request(std::span<const comm::Task> pieces) {
  for (const comm::Task& task : pieces) {
    if (checks_calls()) check(task);
  }
  const auto exclusive = resources_.requests().exclusive();
  auto request = std::make_unique<Request::Impl>(Request::Impl{*this, {}});
  usage_.begin();
  for (const comm::Task& task : pieces) {
    Request::Impl::Piece& piece = request->pieces.emplace_back(task);
    if (!comm::moves_nothing(task)) piece.call = calls_.call_for(task);
    piece.task.sends = piece.task.receives = {};  // they may go now
  }
  return request;
}

void Communicator::Impl::start(Request::Impl::Piece& piece) {
  resources_.members().require_no_poison();
  if (piece.call == nullptr) return;
  if (wants_thread_) start_thread();
  comm::RequestProgress& requests = resources_.requests();
  const auto exclusive = requests.exclusive();
  resources_.executor().arrive(usage_.begin());
  const Call& call = *piece.call;
  const comm::Task& task = comm::publish(resources_, call, piece.task, piece.copies);
  const std::byte* input =
      task.in_place ? comm::set_aside(task.input, call.input_bytes, piece.aside) : task.input;
  resources_.executor().begin_call(call.key);
  piece.tag = resources_.executor().tag();
  comm::Counts& counts = usage_.at(call.entry);
  const auto begin = [&](const auto& prepared, const engine::Buffers& buffers) {
    engine::Execution* execution = resources_.executor().start(prepared, buffers);
    resources_.require_no_failure();
    if (piece.under_way.empty()) requests.add();
    piece.under_way.push_back(execution);
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

void Communicator::Impl::end(Request::Impl::Piece& piece) noexcept {
  piece.under_way.clear();
  resources_.executor().leave(piece.tag, comm::Stopwatch::ticks());
  resources_.requests().remove();
}

bool Communicator::Impl::test(Request::Impl::Piece& piece) {
  const auto exclusive = resources_.requests().exclusive();
  engine::Executor& executor = resources_.executor();
  executor.progress();
  std::erase_if(piece.under_way,
                [&](engine::Execution* execution) { return executor.take(*execution); });
  const bool is_over = piece.under_way.empty();
  if (is_over) end(piece);
  resources_.require_no_failure();
  if (is_over) piece.copies.copy_out();
  resources_.host_progress().after_call(comm::Stopwatch::ticks());
  return is_over;
}

void Communicator::Impl::wait(Request::Impl::Piece& piece) {
  const auto exclusive = resources_.requests().exclusive();
  usage_.begin();
  for (engine::Execution* execution : piece.under_way) {
    if (!resources_.executor().wait(*execution)) break;
  }
  end(piece);
  resources_.require_no_failure();
  piece.copies.copy_out();
  usage_.end_part(usage_.at(piece.call->entry));
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

Request::Impl::Piece& Request::Impl::begun_piece(const char* what, std::size_t number) {
  if (number >= begun) {
    throw_usage("{} {} of a request of {} with {} piece{}, of which {} begun", what, number,
                to_string(pieces.front().task.problem.collective), pieces.size(),
                pieces.size() == 1 ? "" : "s", begun == 1 ? "1 is" : fmt::format("{} are", begun));
  }
  return pieces[number];
}

void Request::start() {
  do {
    start_piece();
  } while (impl_->begun != impl_->pieces.size());
}

bool Request::test() {
  return std::ranges::all_of(impl_->pieces, [this](Impl::Piece& piece) {
    return piece.under_way.empty() || impl_->home.test(piece);
  });
}

void Request::wait() {
  for (Impl::Piece& piece : impl_->pieces) {
    if (!piece.under_way.empty()) impl_->home.wait(piece);
  }
}

std::size_t Request::pieces() const noexcept {
  return impl_->pieces.size();
}

void Request::start_piece() {
  const std::size_t pieces = impl_->pieces.size();
  if (impl_->begun == pieces) {
    if (impl_->is_under_way()) {
      throw_usage("a request of {} was started that is under way",
                  to_string(impl_->pieces.front().task.problem.collective));
    }
    impl_->begun = 0;
  }
  impl_->home.start(impl_->pieces[impl_->begun]);
  ++impl_->begun;
}

bool Request::test_piece(std::size_t number) {
  Impl::Piece& piece = impl_->begun_piece("test_piece", number);
  return piece.under_way.empty() || impl_->home.test(piece);
}

void Request::wait_piece(std::size_t number) {
  Impl::Piece& piece = impl_->begun_piece("wait_piece", number);
  if (!piece.under_way.empty()) impl_->home.wait(piece);
}

}  // namespace weft
