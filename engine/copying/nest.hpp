// Nests of loops over runs of bytes: where the bytes of strided pieces of memory lie, and copies
// between any two of them.
//
// A vector, a subarray, columns of a matrix and all that is built of such pieces are one nest;
// irregular pieces are as many nests as they have blocks.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace weft::engine {

struct Loop {
  std::uint64_t count = 0;
  std::ptrdiff_t stride = 0;  // bytes
  bool operator==(const Loop&) const = default;
};

/// Loops, the last one innermost. A plain value, so that nests can lie in shared memory.
class Loops {
 public:
  static constexpr std::size_t kMost = 8;

  Loops() = default;
  Loops(std::initializer_list<Loop> loops) {
    for (const Loop& loop : loops) loops_[depth_++] = loop;
  }

  std::size_t size() const noexcept { return depth_; }
  bool empty() const noexcept { return depth_ == 0; }
  const Loop* begin() const noexcept { return loops_.data(); }
  const Loop* end() const noexcept { return loops_.data() + depth_; }
  Loop& operator[](std::size_t i) noexcept { return loops_[i]; }
  const Loop& operator[](std::size_t i) const noexcept { return loops_[i]; }
  const Loop& back() const noexcept { return loops_[depth_ - 1]; }
  /// There must be fewer than kMost.
  void push_front(const Loop& loop) noexcept {
    std::copy_backward(begin(), end(), loops_.data() + depth_ + 1);
    loops_[0] = loop;
    ++depth_;
  }
  void pop_back() noexcept { loops_[--depth_] = {}; }
  void erase(std::size_t i) noexcept {
    std::copy(begin() + i + 1, end(), loops_.data() + i);
    pop_back();
  }
  bool operator==(const Loops&) const = default;

 private:
  std::uint64_t depth_ = 0;
  std::array<Loop, kMost> loops_ = {};
};

/// Runs of bytes at `at` and all offsets that the loops add to it. Its *packed bytes* are those of
/// the runs one after another, the last loop innermost.
struct Nest {
  std::ptrdiff_t at = 0;
  std::uint64_t run_bytes = 0;
  Loops loops = {};
  std::uint64_t first = 0;  // of its packed bytes, among those of an element
  std::uint64_t bytes() const noexcept;
  bool operator==(const Nest&) const = default;
};

/// Joins loops that are one, so that runs are as long, and loops as few, as can be.
void simplify(Nest& nest) noexcept;

/// Elements in memory, `extent` bytes apart: each is the runs of `nests` in their order, counted
/// from where it begins. A view, of this process's memory or of another one's.
struct Elements {
  std::uintptr_t buffer =
      0;  // where the first element begins; 0 with absolute addresses in `nests`
  std::span<const Nest> nests;
  std::uint64_t element_bytes = 0;  // of an element, packed
  std::ptrdiff_t extent = 0;
  std::uint64_t count = 0;

  std::uint64_t bytes() const noexcept { return element_bytes * count; }
  /// Whether they are one run, which begins at run().
  bool is_one_run() const noexcept {
    return count == 1 && nests.size() == 1 && nests.front().loops.empty();
  }
  std::byte* run() const noexcept {
    return reinterpret_cast<std::byte*>(buffer + static_cast<std::uintptr_t>(nests.front().at));
  }
};

/// The addresses from the lowest byte of some elements to behind the highest. Of at least one byte.
struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
Range range_of(const Elements& elements) noexcept;

/// Copies the packed bytes `from` to `to` of elements to `packed`, or back.
void pack(const Elements& elements, std::uint64_t from, std::uint64_t to,
          std::byte* packed) noexcept;
void unpack(const Elements& elements, std::uint64_t from, std::uint64_t to,
            const std::byte* packed) noexcept;

/// to = from. Equal bytes, no overlap. `past_caches`: as for copy() of layouts.
void copy(const Elements& to, const Elements& from, bool past_caches) noexcept;

/// Writes the runs of the packed bytes `from` to `to` in their order, as many as fit, and returns
/// their number; those that follow one another in memory are one. Their bytes go to `covered`.
std::size_t list_runs(const Elements& elements, std::uint64_t from, std::uint64_t to,
                      std::span<iovec> runs, std::uint64_t& covered) noexcept;

}  // namespace weft::engine
