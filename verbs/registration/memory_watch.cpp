#include "verbs/registration/memory_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace weft::verbs {

namespace {

constexpr std::uintptr_t kPage = 4096;

File open_events() {
  // Without page faults inside the kernel, which are not needed here, no privilege is required. A
  // kernel before 5.11 does not know that flag.
  const int flags = O_CLOEXEC | O_NONBLOCK;
  File events(static_cast<int>(::syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY)));
  if (!events) events = File(static_cast<int>(::syscall(SYS_userfaultfd, flags)));
  if (!events) throw_errno("userfaultfd");
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP |
                 UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (::ioctl(events.get(), UFFDIO_API, &api) != 0) throw_errno("userfaultfd(UFFDIO_API)");
  return events;
}

}  // namespace

std::shared_ptr<MemoryWatch> MemoryWatch::get() {
  static std::mutex mutex;
  static auto& only = *new std::weak_ptr<MemoryWatch>;  // programs end in any order
  const std::lock_guard lock(mutex);
  auto watch = only.lock();
  if (watch == nullptr) only = watch = std::make_shared<MemoryWatch>();
  return watch;
}

MemoryWatch::MemoryWatch() : events_(open_events()), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw_errno("eventfd");
  thread_ = quiet_thread([this] { run(); });
}

MemoryWatch::~MemoryWatch() {
  ends_.store(true, std::memory_order_release);
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void MemoryWatch::add(Listener& listener) noexcept {
  const std::lock_guard lock(listeners_mutex_);
  listener.next_ = listeners_;
  listeners_ = &listener;
}

void MemoryWatch::remove(Listener& listener) noexcept {
  const std::lock_guard lock(listeners_mutex_);
  Listener** at = &listeners_;
  while (*at != &listener) at = &(*at)->next_;
  *at = listener.next_;
}

bool MemoryWatch::watch(std::uintptr_t begin, std::uintptr_t end) noexcept {
  uffdio_register wanted{};
  wanted.range.start = begin / kPage * kPage;
  wanted.range.len = (end + kPage - 1) / kPage * kPage - wanted.range.start;
  // No page is ever write-protected: this mode has no cost.
  wanted.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(events_.get(), UFFDIO_REGISTER, &wanted) == 0;
}

void MemoryWatch::run() noexcept {
  std::array<pollfd, 2> ready = {pollfd{events_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (true) {
    // Reading does not block: where poll fails for lack of memory, nothing is missed.
    ::poll(ready.data(), ready.size(), -1);
    if (ends_.load(std::memory_order_acquire)) break;
    turn_.fetch_add(1, std::memory_order_seq_cst);
    read_events();
    turn_.fetch_add(1, std::memory_order_seq_cst);
  }
  // The end of a thread unmaps memory, and no thread reads the events any more: end them.
  events_ = File();
}

void MemoryWatch::read_events() noexcept {
  uffd_msg event{};
  while (::read(events_.get(), &event, sizeof event) == sizeof event) {
    std::uintptr_t begin = event.arg.remove.start;
    std::uintptr_t end = event.arg.remove.end;
    if (event.event == UFFD_EVENT_REMAP) {
      begin = event.arg.remap.from;
      end = begin + event.arg.remap.len;
    } else if (event.event != UFFD_EVENT_UNMAP && event.event != UFFD_EVENT_REMOVE) {
      continue;
    }
    const std::lock_guard lock(listeners_mutex_);
    for (Listener* listener = listeners_; listener != nullptr; listener = listener->next_) {
      listener->gone(begin, end);
    }
  }
}

}  // namespace weft::verbs
