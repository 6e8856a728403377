// Control segment: a mapping of it, the file behind it, and what owner and peers read from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>

#include "base/file.hpp"
#include "verbs/soft/segment/clock.hpp"
#include "verbs/soft/segment/control_layout.hpp"

namespace weft::soft {

/// A mapped control segment, own or a peer's.
class ControlSegment {
 public:
  explicit ControlSegment(int descriptor) : mapping_(descriptor, kSegmentBytes) {}

  SegmentHeader& header() const noexcept { return *at<SegmentHeader>(0); }
  QpBlock& qp(std::uint32_t index) const noexcept { return at<QpBlock>(kQpTable)[index]; }
  CqBlock& cq(std::uint32_t index) const noexcept { return at<CqBlock>(kCqTable)[index]; }
  SrqBlock& srq(std::uint32_t index) const noexcept { return at<SrqBlock>(kSrqTable)[index]; }
  MrEntry& mr(std::uint32_t index) const noexcept { return at<MrEntry>(kMrTable)[index]; }

  Cqe& cqe(const CqBlock& cq, std::uint64_t sequence) const noexcept {
    return at<Cqe>(cq.ring)[sequence & (cq.capacity - 1)];
  }
  ReceiveWqe& receive(const ReceiveRing& ring, std::uint64_t sequence) const noexcept {
    return *at<ReceiveWqe>(ring.ring + (sequence & (ring.capacity - 1)) * ring.stride);
  }

  /// Tells the owner that an object of its has attention bits set, and wakes its progress thread.
  void ring_doorbell() const noexcept;

 private:
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(mapping_.data() + offset);
  }

  Mapping mapping_;
};

/// The file behind this process's own segment, and the allocator of the rings in it.
class ControlSegmentFile {
 public:
  ControlSegmentFile();

  int descriptor() const noexcept { return file_.get(); }

  /// Commits [offset, offset + bytes), so that touching it cannot fail later. SystemError(ENOSPC
  /// or ENOMEM) when there is no memory.
  void commit(std::size_t offset, std::size_t bytes);

  /// A committed range of at least `bytes`, zeroed. SystemError when the segment is full.
  std::size_t allocate(std::size_t bytes);
  void release(std::size_t offset, std::size_t bytes) noexcept;

 private:
  File file_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes, neighbours merged
};

/// The region that `key` names, if it is valid, belongs to protection domain `pd` and covers
/// [address, address + bytes) with all of `access`; nullptr otherwise. The entry does not change
/// while the caller holds a lock that Runtime::quiesce() passes through.
const MrEntry* find_region(const ControlSegment& segment, std::uint32_t key, std::uint32_t pd,
                           std::uint64_t address, std::uint64_t bytes, unsigned access) noexcept;

inline std::uint32_t region_index(std::uint32_t key) noexcept {
  return key >> 8;
}

constexpr std::uint64_t kDownForGood = std::numeric_limits<std::uint64_t>::max();

inline bool port_is_up(const ControlSegment& segment, unsigned device) noexcept {
  const std::uint64_t until =
      segment.header().port_down_until_ns[device].load(std::memory_order_relaxed);
  return until == 0 || static_cast<std::uint64_t>(now_ns()) >= until;
}

/// Under a slow-peer fault, takes the process's turn to answer one message: false when that time
/// has not come yet. Without that fault, true.
inline bool take_turn(const ControlSegment& segment) noexcept {
  SegmentHeader& header = segment.header();
  const std::uint64_t slow_ns = header.slow_ns.load(std::memory_order_relaxed);
  if (slow_ns == 0) return true;
  const auto now = static_cast<std::uint64_t>(now_ns());
  std::uint64_t busy_until = header.busy_until_ns.load();
  return now >= busy_until &&
         header.busy_until_ns.compare_exchange_strong(busy_until, now + slow_ns);
}

}  // namespace weft::soft
