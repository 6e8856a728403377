#include "verbs/soft/segment/control_segment.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/cast.hpp"
#include "base/error.hpp"

namespace weft::soft {

void ControlSegment::ring_doorbell() const noexcept {
  SegmentHeader& head = header();
  head.attention.fetch_add(1);
  head.doorbell.fetch_add(1);
  ::syscall(SYS_futex, &head.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

ControlSegmentFile::ControlSegmentFile()
    : file_(::memfd_create("weft-soft", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!file_) throw_errno("memfd_create(weft-soft)");
  if (::ftruncate(file_.get(), kSegmentBytes) != 0) {
    throw_errno(fmt::format("ftruncate(weft-soft, {} bytes)", kSegmentBytes));
  }
  if (::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw_errno("fcntl(weft-soft, F_ADD_SEALS)");
  }
  free_.emplace(kRingArea, kSegmentBytes - kRingArea);
}

void ControlSegmentFile::commit(std::size_t offset, std::size_t bytes) {
  const std::size_t begin = offset / kPage * kPage;
  const std::size_t end = round_up(offset + bytes, kPage);
  // A signal takes back what a call has committed: pieces get done between two of them.
  constexpr std::size_t kPiece = 256 * kPage;
  for (std::size_t done = begin; done < end;) {
    const std::size_t piece = std::min(kPiece, end - done);
    if (::fallocate(file_.get(), 0, static_cast<off_t>(done), static_cast<off_t>(piece)) == 0) {
      done += piece;
    } else if (errno != EINTR) {
      throw_errno(fmt::format("fallocate(weft-soft, {} bytes)", end - begin));
    }
  }
}

std::size_t ControlSegmentFile::allocate(std::size_t bytes) {
  const std::size_t wanted = round_up(bytes, kPage);
  std::size_t offset = 0;
  {
    std::lock_guard lock(mutex_);
    auto range = free_.begin();
    while (range != free_.end() && range->second < wanted) ++range;
    if (range == free_.end()) {
      throw SystemError(fmt::format("allocating {} bytes of the control segment", wanted), ENOMEM);
    }
    offset = range->first;
    const std::size_t rest = range->second - wanted;
    free_.erase(range);
    if (rest > 0) free_.emplace(offset + wanted, rest);
  }
  try {
    commit(offset, wanted);
  } catch (...) {
    release(offset, bytes);
    throw;
  }
  return offset;
}

void ControlSegmentFile::release(std::size_t offset, std::size_t bytes) noexcept {
  std::size_t length = round_up(bytes, kPage);
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(length));
  std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + length) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += length;
      return;
    }
  }
  free_.emplace(offset, length);
}

const MrEntry* find_region(const ControlSegment& segment, std::uint32_t key, std::uint32_t pd,
                           std::uint64_t address, std::uint64_t bytes, unsigned access) noexcept {
  const std::uint32_t index = region_index(key);
  if (key == 0 || index >= kMaxMrs) return nullptr;
  const MrEntry& entry = segment.mr(index);
  if (entry.key.load(std::memory_order_acquire) != key) return nullptr;
  if (entry.pd != pd || (entry.access & access) != access) return nullptr;
  // Written so that no sum can overflow.
  if (address < entry.iova || address - entry.iova > entry.length ||
      bytes > entry.length - (address - entry.iova)) {
    return nullptr;
  }
  return &entry;
}

}  // namespace weft::soft
