// What a rank does for a neighbour that cannot reach its buffers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/copy_bytes.hpp"

namespace weft::engine {

/// In the shared memory of the rank whose buffers they are, its owner: a piece of them at a time is
/// copied by the owner, from or to what both see. One neighbour holds it at a time. Zero at the
/// beginning.
struct Errand {
  static constexpr std::size_t kBytes = 16 << 10;
  enum State : std::uint32_t { kNone, kAsked, kDone };

  alignas(64) std::atomic<std::uint32_t> state{kNone};
  std::atomic<std::uint32_t> held{0};
  std::uint64_t address = 0;  // of the owner
  std::uint64_t bytes = 0;    // at most kBytes
  bool writes = false;        // to the owner's buffer
  alignas(64) std::array<std::byte, kBytes> memory{};

  /// By neighbours. What was held is theirs until they let go.
  bool hold() noexcept { return held.exchange(1, std::memory_order_acquire) == 0; }
  /// The owner may sleep: it is to be woken after this.
  void ask(std::uint64_t at, std::uint64_t size, bool is_write) noexcept {
    address = at;
    bytes = size;
    writes = is_write;
    state.store(kAsked, std::memory_order_seq_cst);
  }
  bool is_done() const noexcept { return state.load(std::memory_order_acquire) == kDone; }
  void let_go() noexcept {
    state.store(kNone, std::memory_order_relaxed);
    held.store(0, std::memory_order_release);
  }

  /// By the owner, often while it waits. Whether there was something to do.
  bool serve() noexcept {
    if (state.load(std::memory_order_acquire) != kAsked) return false;
    auto* buffer = reinterpret_cast<std::byte*>(address);
    copy_bytes(writes ? buffer : memory.data(), writes ? memory.data() : buffer, bytes);
    state.store(kDone, std::memory_order_release);
    return true;
  }
};

}  // namespace weft::engine
