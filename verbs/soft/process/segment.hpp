// A control segment as its owner and its peers see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/file.hpp"
#include "verbs/soft/process/layout.hpp"

namespace weft::soft {

/// A mapped control segment, own or a peer's.
class Segment {
 public:
  explicit Segment(int descriptor) : mapping_(descriptor, kSegmentBytes) {}

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

  /// Tells the owner that one of its objects wants attention, and wakes its progress thread.
  void ring_doorbell() const noexcept;

 private:
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(mapping_.data() + offset);
  }

  Mapping mapping_;
};

/// The file behind the own segment, and the memory in it that rings are carved from.
class SegmentFile {
 public:
  SegmentFile();

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

}  // namespace weft::soft
