// Helper copy: a rank copies a piece of its own buffer for a neighbour that cannot reach it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/copy_bytes.hpp"

namespace weft::engine {

/// In the shared memory of the buffer's owner. A neighbour locks it, requests a copy of up to
/// kBytes between the owner's buffer and `memory`, waits until the owner has served the request,
/// and unlocks it. Zero at the beginning.
struct HelperCopy {
  static constexpr std::size_t kBytes = 16 << 10;
  enum State : std::uint32_t { kIdle, kRequested, kDone };

  alignas(64) std::atomic<std::uint32_t> state{kIdle};
  std::atomic<std::uint32_t> locked{0};
  std::uint64_t address = 0;  // in the owner's process
  std::uint64_t bytes = 0;    // at most kBytes
  bool writes = false;        // to the owner's buffer
  alignas(64) std::array<std::byte, kBytes> memory;

  /// By neighbours. All fields but `state` belong to the neighbour that has the lock.
  bool try_lock() noexcept { return locked.exchange(1, std::memory_order_acquire) == 0; }
  /// The owner may sleep: wake it afterwards.
  void request(std::uint64_t at, std::uint64_t size, bool is_write) noexcept {
    address = at;
    bytes = size;
    writes = is_write;
    state.store(kRequested, std::memory_order_seq_cst);
  }
  bool is_done() const noexcept { return state.load(std::memory_order_acquire) == kDone; }
  void unlock() noexcept {
    state.store(kIdle, std::memory_order_relaxed);
    locked.store(0, std::memory_order_release);
  }

  /// By the owner, often while it waits. True when there was a request.
  bool serve() noexcept {
    if (state.load(std::memory_order_acquire) != kRequested) return false;
    auto* buffer = reinterpret_cast<std::byte*>(address);
    copy_bytes(writes ? buffer : memory.data(), writes ? memory.data() : buffer, bytes);
    state.store(kDone, std::memory_order_release);
    return true;
  }
};

}  // namespace weft::engine
