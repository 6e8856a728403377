#include "comm/setup/standstill_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "base/quiet_thread.hpp"
#include "comm/setup/settings.hpp"
#include "engine/board/report.hpp"

namespace weft::comm {

namespace {

namespace board = engine::board;

constexpr int kLookEvery_ms = 1000;

// Of the watch that has taken the signal; -1: none has.
std::atomic<int> bell_of_signal{-1};

extern "C" void weft_on_stuck_signal(int) {
  const int error = errno;
  const int bell = bell_of_signal.load(std::memory_order_relaxed);
  if (bell >= 0) ::eventfd_write(bell, 1);
  errno = error;
}

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void say(const std::string& text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::shared_ptr<StandstillWatch> StandstillWatch::shared(const Settings& settings) {
  if (settings.stuck_signal == 0 && settings.timeout_ns == 0) return nullptr;
  static std::mutex mutex;
  static auto& known = *new std::weak_ptr<StandstillWatch>;  // programs end in any order
  const std::lock_guard lock(mutex);
  auto watch = known.lock();
  if (watch == nullptr || watch->process_ != ::getpid()) {
    watch = std::make_shared<StandstillWatch>(settings.stuck_signal, settings.timeout_ns);
    known = watch;
  }
  return watch;
}

StandstillWatch::StandstillWatch(int signal, std::int64_t timeout_ns)
    : process_(::getpid()),
      signal_(signal),
      timeout_ns_(timeout_ns),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_) throw_errno("eventfd");
  thread_ = quiet_thread([this] { serve(); });
  if (signal_ != 0) take_signal();
}

StandstillWatch::~StandstillWatch() {
  if (process_ != ::getpid()) {
    // A child of fork() has no such thread.
    thread_.detach();
    return;
  }
  int mine = bell_.get();
  if (bell_of_signal.compare_exchange_strong(mine, -1)) {
    struct sigaction now {};
    if (::sigaction(signal_, nullptr, &now) == 0 && now.sa_handler == weft_on_stuck_signal) {
      ::signal(signal_, SIG_DFL);
    }
  }
  ends_.store(true, std::memory_order_relaxed);
  ::eventfd_write(bell_.get(), 1);
  thread_.join();
}

void StandstillWatch::take_signal() {
  struct sigaction before {};
  if (::sigaction(signal_, nullptr, &before) != 0 || !is_default(before)) {
    why_no_signal_ =
        fmt::format("WEFT_STUCK_SIGNAL: the program handles SIG{} itself", ::sigabbrev_np(signal_));
    return;
  }
  bell_of_signal.store(bell_.get(), std::memory_order_relaxed);
  struct sigaction wanted {};
  wanted.sa_handler = weft_on_stuck_signal;
  wanted.sa_flags = SA_RESTART;
  ::sigaction(signal_, &wanted, nullptr);
}

void StandstillWatch::serve() noexcept {
  while (!ends_.load(std::memory_order_relaxed)) {
    pollfd ready{bell_.get(), POLLIN, 0};
    const int got = ::poll(&ready, 1, timeout_ns_ == 0 ? -1 : kLookEvery_ms);
    if (ends_.load(std::memory_order_relaxed)) return;
    try {
      eventfd_t rings = 0;
      if (got > 0 && ::eventfd_read(bell_.get(), &rings) == 0) {
        const auto processes = board::with_neighbours();
        board::ask_for_other_nodes(processes);
        say(board::report(processes));
      } else if (got == 0) {
        look_at_set_ups();
      } else if (errno != EINTR) {
        return;
      }
    } catch (const std::exception&) {
      // No memory or descriptors: the next look may have some.
    }
  }
}

/// Of those that take too long the lowest rank of the node that waits says so, once.
void StandstillWatch::look_at_set_ups() {
  const auto is_long = [this](const board::SeenRank& rank) {
    return rank.setup && rank.phase_s * 1e9 > static_cast<double>(timeout_ns_);
  };
  const auto own = board::look(std::span(&process_, 1));
  const bool some = std::ranges::any_of(own, [&](const board::SeenCommunicator& seen) {
    return std::ranges::any_of(seen.ranks, is_long);
  });
  if (!some) return;
  const auto processes = board::with_neighbours();
  for (const board::Seen& seen : board::find_standstills(processes)) {
    const auto& ranks = seen.communicator.ranks;
    const auto first = std::ranges::find_if(ranks, is_long);
    if (first == ranks.end() || first->process.number != process_) continue;
    const std::uint32_t number = seen.standstill.call ? seen.standstill.call->number : 0;
    if (!said_.insert({seen.communicator.number, number}).second) continue;
    say(fmt::format("weft: WEFT_TIMEOUT: {} s in a set-up, which goes on waiting\n{}",
                    timeout_ns_ / 1'000'000'000,
                    board::to_text(seen.communicator, seen.standstill)));
  }
}

}  // namespace weft::comm
