#include "engine/node/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace weft::engine {

std::int64_t now_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void Doorbell::wake() noexcept {
  // One system call for each sleep: by the neighbour that resets the word.
  if (wanted.exchange(kNobody, std::memory_order_seq_cst) == kNobody) return;
  rings.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::block(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  ::syscall(SYS_futex, &rings, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

}  // namespace weft::engine
