#include "verbs/control/liveness_responder.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"

namespace weft::verbs {

namespace {
constexpr int kQueueEntries = 128;  // more than a control path has work requests
// Between two calls of the caretaker.
constexpr int kFirstPause_ms = 1;
constexpr int kLongestPause_ms = 50;
}  // namespace

LivenessResponder::LivenessResponder(const Library& library, ibv_context* context,
                                     ControlPath::Port port)
    : bell_(::eventfd(0, EFD_CLOEXEC)) {
  if (!bell_) throw_errno("eventfd");
  handles_.library = &library;
  handles_.channel = library.create_comp_channel(context);
  if (handles_.channel == nullptr) throw_errno("ibv_create_comp_channel");
  handles_.queue = library.create_cq(context, kQueueEntries, nullptr, handles_.channel, 0);
  if (handles_.queue == nullptr) throw_errno(fmt::format("ibv_create_cq({})", kQueueEntries));
  port.queue = handles_.queue;
  path_ = std::make_unique<ControlPath>(library, port);
}

LivenessResponder::Handles::~Handles() {
  if (queue != nullptr) library->destroy_cq(queue);
  if (channel != nullptr) library->destroy_comp_channel(channel);
}

LivenessResponder::~LivenessResponder() {
  if (thread_.joinable()) {
    ends_.store(true, std::memory_order_relaxed);
    wake();
    thread_.join();
  }
  for (const auto& [pair, entry] : entries_) {
    if (entry.address != nullptr) path_->destroy_address(entry.address);
  }
}

void LivenessResponder::add(std::uint32_t pair, const Peer& peer) {
  {
    const std::lock_guard lock(mutex_);
    entries_.try_emplace(pair, Entry{peer});
  }
  if (thread_.joinable()) return;
  try {
    thread_ = quiet_thread([this] { serve(); });
  } catch (const std::system_error& refused) {
    throw SystemError("the thread of the liveness responder", refused.code().value());
  }
}

void LivenessResponder::set_caretaker(Caretaker caretaker) {
  const std::lock_guard lock(caretaker_mutex_);
  caretaker_ = std::move(caretaker);
}

void LivenessResponder::wake() noexcept {
  ::eventfd_write(bell_.get(), 1);
}

bool LivenessResponder::is_to_come_back() noexcept {
  const std::lock_guard lock(caretaker_mutex_);
  return caretaker_ && caretaker_();
}

void LivenessResponder::remove(std::uint32_t pair) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(pair);
  if (found == entries_.end()) return;
  if (found->second.address != nullptr) path_->destroy_address(found->second.address);
  entries_.erase(found);
}

void LivenessResponder::serve() noexcept {
  bool is_called = false;
  bool cares = false;
  int pause_ms = kFirstPause_ms;
  // The event is requested before the queue is read: what arrives in between causes one, too.
  while (ibv_req_notify_cq(handles_.queue, 0) == 0) {
    is_called |= answer_all();
    if (is_called) pause_ms = kFirstPause_ms;
    if (is_called || cares) cares = is_to_come_back();
    std::array<pollfd, 2> ready = {pollfd{handles_.channel->fd, POLLIN, 0},
                                   pollfd{bell_.get(), POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), cares ? pause_ms : -1) < 0 && errno != EINTR) return;
    pause_ms = std::min(2 * pause_ms, kLongestPause_ms);
    is_called = ready[1].revents != 0;
    eventfd_t rings = 0;
    if (is_called && ::eventfd_read(bell_.get(), &rings) != 0) return;
    if (ends_.load(std::memory_order_relaxed)) return;
    if ((ready[0].revents & POLLIN) == 0) {
      if (ready[0].revents != 0) return;
      continue;
    }
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (handles_.library->get_cq_event(handles_.channel, &queue, &context) != 0) return;
    handles_.library->ack_cq_events(queue, 1);
  }
}

/// Whether a peer has asked.
bool LivenessResponder::answer_all() noexcept {
  std::array<ibv_wc, 16> completions;
  int count = 0;
  bool is_asked = false;
  do {
    count = ibv_poll_cq(handles_.queue, static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i) {
      Notice question;
      if (path_->complete(completions[i], question) && answer(question)) is_asked = true;
    }
  } while (count > 0);
  return is_asked;
}

/// Whether a connection may be broken: a peer has asked whether this process lives.
bool LivenessResponder::answer(const Notice& question) noexcept {
  const bool is_where = (question.flags & Notice::kWhere) != 0;
  Notice reply;
  reply.reason = question.reason;
  if (is_where) {
    try {
      if (!teller_ || !teller_(reply.reason)) return false;
    } catch (const std::exception&) {
      return false;  // it may ask again
    }
  }
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(question.to);
  if (found == entries_.end() || found->second.peer.pair != question.from) return false;
  Entry& entry = found->second;
  if (entry.address == nullptr) entry.address = path_->create_address(entry.peer.route);
  if (entry.address == nullptr) return !is_where;
  reply.to = question.from;
  reply.from = question.to;
  reply.epoch = question.epoch;
  reply.flags = is_where ? Notice::kWhere : Notice::kAlive;
  path_->send(entry.address, entry.peer.control, reply);
  return !is_where;
}

}  // namespace weft::verbs
