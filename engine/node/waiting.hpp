// How a rank waits: spinning while it has a core, asleep where ranks outnumber cores.
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

/// What one rank's neighbours ring when they have something for it and it sleeps. In shared memory;
/// zero at the beginning.
///
/// The sleeper says in `wanted` whom it waits for and then looks once more; whoever has something
/// stores it first and then looks at `wanted`. Both sides use sequentially consistent operations:
/// one of them sees the other, so no ring is lost.
struct Doorbell {
  static constexpr std::uint32_t kNobody = 0;
  static constexpr std::uint32_t kAnyone = UINT32_MAX;

  alignas(64) std::atomic<std::uint32_t> wanted{kNobody};  // place + 1, or kAnyone
  std::atomic<std::uint32_t> rings{0};                     // the futex

  /// By the neighbour at `place`, after a sequentially consistent store of what it has.
  void ring(int place) noexcept {
    const std::uint32_t who = wanted.load(std::memory_order_seq_cst);
    if (who == kNobody) return;
    if (who == kAnyone || who == static_cast<std::uint32_t>(place) + 1) wake();
  }
  void wake() noexcept;

  /// Sleeps until rung by `who` (a place + 1, or kAnyone), unless `ready()` already holds once
  /// neighbours can see that this rank is about to sleep; `timeout_ns` at the most.
  template <class Ready>
  void sleep(std::uint32_t who, std::int64_t timeout_ns, Ready ready) noexcept {
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    wanted.store(who, std::memory_order_seq_cst);
    full_fence();
    if (!ready()) block(seen, timeout_ns);
    wanted.store(kNobody, std::memory_order_relaxed);
  }

 private:
  void block(std::uint32_t seen, std::int64_t timeout_ns) noexcept;
};

}  // namespace weft::engine
