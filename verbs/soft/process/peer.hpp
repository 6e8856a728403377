// Peer: another process that has the device open, as a requester sees it. Holds the peer's control
// segment, those of its regions that are mapped here, and the connection to its agent.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "base/file.hpp"
#include "base/process_handle.hpp"
#include "verbs/soft/process/agent_protocol.hpp"
#include "verbs/soft/segment/control_segment.hpp"

namespace weft::soft {

/// Immutable once attached, but for caches and for `dead`; shared by the QPs that are connected
/// to it. A slot that is taken again after a death is another Peer.
class Peer {
 public:
  /// Connects to the agent of `slot`. SystemError when no process holds the slot
  /// (ECONNREFUSED) or another user's does (EPERM).
  static std::shared_ptr<Peer> attach(std::uint32_t slot);
  /// This process itself.
  static std::shared_ptr<Peer> self(int segment_descriptor, std::uint32_t slot);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  const ControlSegment& segment() const noexcept { return segment_; }
  std::uint32_t slot() const noexcept { return slot_; }
  pid_t pid() const noexcept { return pid_; }
  /// Whether its process has ended, as far as the system tells. Its number may be another's then.
  bool has_ended() const noexcept { return process_ != nullptr && process_->has_ended(); }
  int connection() const noexcept { return connection_.get(); }

  bool dead() const noexcept { return died_at_ns_.load(std::memory_order_acquire) != 0; }
  std::int64_t died_at_ns() const noexcept { return died_at_ns_.load(std::memory_order_acquire); }
  void mark_dead() noexcept;
  /// Asks the kernel whether the other end of the connection is still there.
  bool hung_up() const noexcept;

  /// The address of the region's first byte in this process, or nullptr when the region cannot be
  /// mapped. The caller holds a responder lock of the peer and has seen the entry's key valid.
  std::byte* direct(std::uint32_t index) noexcept {
    const Region& region = regions_[index];
    const MrEntry& entry = segment_.mr(index);
    if (region.epoch.load(std::memory_order_acquire) ==
        entry.epoch.load(std::memory_order_relaxed)) {
      return region.base.load(std::memory_order_relaxed);
    }
    return map_region(index, entry);
  }

  /// Raises an event on the peer's completion channel, if that still exists.
  void raise_event(std::uint32_t channel) noexcept;

  /// True after process_vm_readv or process_vm_writev was refused: the agent copies instead.
  std::atomic<bool> copy_refused{false};

  /// One exchange with the agent: `out` behind the request, `in` behind the reply. Returns errno
  /// of the exchange, or the agent's.
  int ask(const Request& request, Reply& reply, std::span<const iovec> out,
          std::span<const iovec> in, File* passed = nullptr) noexcept;

 private:
  /// A region as mapped here: `epoch` is released after `base`, and 0 in an unused entry.
  struct Region {
    Shared32 epoch;
    std::atomic<std::byte*> base;
  };
  /// A mapping of part of a file, undone once.
  struct Range {
    Range() = default;
    Range(Range&& other) noexcept : memory(std::exchange(other.memory, {})), epoch(other.epoch) {}
    Range& operator=(Range&&) = delete;
    ~Range();
    std::span<std::byte> memory;
    std::uint32_t epoch = 0;
  };

  Peer(int segment_descriptor, std::uint32_t slot);
  std::byte* map_region(std::uint32_t index, const MrEntry& entry) noexcept;
  Range map_file(std::uint32_t index, const MrEntry& entry) noexcept;
  void drop_stale_regions() noexcept;

  ControlSegment segment_;
  std::uint32_t slot_;
  pid_t pid_ = 0;
  std::shared_ptr<const ProcessHandle> process_;  // null: its own, or the system refuses it
  bool is_self_ = false;
  std::atomic<std::int64_t> died_at_ns_{0};

  mutable std::mutex exchange_mutex_;  // one exchange at a time on the connection
  File connection_;

  std::mutex region_mutex_;
  Region* regions_;                        // kMaxMrs of them, zero pages until used
  std::map<std::uint32_t, Range> ranges_;  // what lies behind regions_, by index
  std::mutex channel_mutex_;
  std::map<std::uint32_t, File> channels_;
};

}  // namespace weft::soft
