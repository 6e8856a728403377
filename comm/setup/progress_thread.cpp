#include "comm/setup/progress_thread.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>

#include "base/quiet_thread.hpp"

namespace weft::comm {

using Help = engine::Executor::Help;

namespace {

// About ten microseconds: an answer that comes at once is seen at once.
constexpr std::uint32_t kSpinTurns = 64;
constexpr std::int64_t kFirstSleep_ns = 2'000;
constexpr std::int64_t kSleepAtMost_ns = 50'000;
constexpr unsigned long kSlack_ns = 1'000;  // the system would add 50 us to each
constexpr std::int64_t kLongSleep_ns = 1'000'000'000;
constexpr int kCaller = 0;

}  // namespace

ProgressThread::ProgressThread(engine::Executor& executor, engine::Turn& turn, bool may_spin)
    : executor_(executor),
      turn_(turn),
      may_spin_(may_spin),
      thread_(quiet_thread([this] { run(); })) {}

ProgressThread::~ProgressThread() {
  if (!turn_.is_here()) {
    thread_.detach();
    return;
  }
  ends_.store(true, std::memory_order_seq_cst);
  bell_.ring(kCaller);
  thread_.join();
}

void ProgressThread::wake() noexcept {
  is_at_work_.store(true, std::memory_order_seq_cst);
  bell_.ring(kCaller);
}

void ProgressThread::run() noexcept {
  ::prctl(PR_SET_NAME, "weft-requests");
  ::prctl(PR_SET_TIMERSLACK, kSlack_ns);
  while (!ends_.load(std::memory_order_seq_cst)) {
    if (!is_at_work_.load(std::memory_order_seq_cst)) {
      bell_.sleep(engine::Doorbell::kAnyone, kLongSleep_ns, [this] {
        return is_at_work_.load(std::memory_order_seq_cst) || ends_.load(std::memory_order_seq_cst);
      });
      idle_turns_ = 0;
    } else if (turn_.is_wanted()) {
      ::sched_yield();
    } else if (take_turn() == Help::moved) {
      idle_turns_ = 0;
    } else {
      back_off();
    }
  }
}

Help ProgressThread::take_turn() noexcept {
  const std::lock_guard lock(turn_);
  // rest() may have come before.
  if (!is_at_work_.load(std::memory_order_seq_cst)) return Help::nothing_under_way;
  const Help turn = executor_.help(caller_waits_.load(std::memory_order_relaxed));
  if (turn == Help::nothing_under_way) rest();
  return turn;
}

void ProgressThread::back_off() noexcept {
  const std::uint32_t spins = may_spin_ ? kSpinTurns : 0;
  if (++idle_turns_ <= spins) return engine::relax();
  const std::uint32_t doublings = std::min(idle_turns_ - spins - 1, 10u);
  bell_.sleep(engine::Doorbell::kAnyone, std::min(kFirstSleep_ns << doublings, kSleepAtMost_ns),
              [this] { return ends_.load(std::memory_order_seq_cst); });
}

}  // namespace weft::comm
