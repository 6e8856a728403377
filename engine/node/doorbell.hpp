// Waiting: the pause of a spinning rank, a clock, and the doorbell that wakes a sleeping rank.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::engine {

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Orders all earlier stores before all later loads.
inline void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not know fences; an exchange on one variable orders as much.
  static std::atomic<int> anchor{0};
  anchor.exchange(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Monotonic time in ns.
std::int64_t now_ns() noexcept;

/// Doorbell of one rank: its neighbours ring it after they have stored something that the rank may
/// be waiting for, and so wake the rank if it sleeps. In shared memory; zero at the beginning.
///
/// The sleeper stores in `wanted` the neighbour that it waits for, and then checks once more
/// whether it still has to wait. The neighbour stores first what it has, and then reads `wanted`.
/// All four are sequentially consistent: one of the two sees the other's store, so no ring is lost.
struct Doorbell {
  static constexpr std::uint32_t kNobody = 0;  // the rank does not sleep
  static constexpr std::uint32_t kAnyone = UINT32_MAX;

  alignas(64) std::atomic<std::uint32_t> wanted{kNobody};  // place + 1, or kAnyone
  std::atomic<std::uint32_t> rings{0};                     // the futex

  /// By the neighbour at `place`, after its sequentially consistent store.
  void ring(int place) noexcept {
    const std::uint32_t ringer = wanted.load(std::memory_order_seq_cst);
    if (ringer == kNobody) return;
    if (ringer == kAnyone || ringer == static_cast<std::uint32_t>(place) + 1) wake();
  }
  void wake() noexcept;

  /// Sleeps until `ringer` (a place + 1, or kAnyone) rings, for `timeout_ns` at the most. Does not
  /// sleep when `ready()` holds once neighbours can see that this rank is about to sleep.
  template <class Ready>
  void sleep(std::uint32_t ringer, std::int64_t timeout_ns, Ready ready) noexcept {
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    wanted.store(ringer, std::memory_order_seq_cst);
    full_fence();
    if (!ready()) block(seen, timeout_ns);
    wanted.store(kNobody, std::memory_order_relaxed);
  }

 private:
  void block(std::uint32_t seen, std::int64_t timeout_ns) noexcept;
};

}  // namespace weft::engine
