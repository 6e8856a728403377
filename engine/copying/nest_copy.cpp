// Copies of elements to elements of another layout: nest to nest where both are regular, through a
// small buffer where they are not.
#include <algorithm>
#include <array>
#include <optional>

#include "base/copy_bytes.hpp"
#include "engine/copying/grid.hpp"
#include "engine/copying/nest.hpp"

namespace weft::engine {

namespace {

// In the nearest cache.
constexpr std::uint64_t kBufferBytes = 16 << 10;
// Elements of nests that are shorter on the average go through the buffer: it takes the same nest
// of many elements at once.
constexpr std::uint64_t kLeastNest = 512;

void copy_by_buffer(const Elements& to, const Elements& from, std::uint64_t begin,
                    std::uint64_t end) noexcept {
  alignas(64) std::array<std::byte, kBufferBytes> buffer;
  for (std::uint64_t at = begin; at < end; at += kBufferBytes) {
    const std::uint64_t next = std::min(end, at + kBufferBytes);
    pack(from, at, next, buffer.data());
    unpack(to, at, next, buffer.data());
  }
}

/// The nests of all elements one after another, to be taken in parts.
class Sequence {
 public:
  explicit Sequence(const Elements& elements) noexcept : elements_(elements) {
    if (elements.nests.size() == 1) {
      nest_ = elements.nests.front();
      nest_.loops.push_front({elements.count, elements.extent});
      simplify(nest_);
    } else {
      find();
    }
  }

  std::uint64_t left() const noexcept { return nest_.bytes() - done_; }
  /// The next `bytes`, at most left(). nullopt: they are no nest.
  std::optional<Nest> next(std::uint64_t bytes) const noexcept {
    if (done_ == 0 && bytes == nest_.bytes()) return nest_;
    Nest part = nest_;
    if (nest_.loops.empty()) {
      part.at += static_cast<std::ptrdiff_t>(done_);
      part.run_bytes = bytes;
      return part;
    }
    Loop& outer = part.loops[0];
    const std::uint64_t block = nest_.bytes() / outer.count;
    if (done_ % block != 0 || bytes % block != 0) return std::nullopt;
    part.at += static_cast<std::ptrdiff_t>(done_ / block) * outer.stride;
    outer.count = bytes / block;
    simplify(part);
    return part;
  }
  void skip(std::uint64_t bytes) noexcept {
    done_ += bytes;
    if (done_ < nest_.bytes() || elements_.nests.size() == 1) return;
    done_ = 0;
    if (++number_ < elements_.nests.size() * elements_.count) find();
  }

 private:
  void find() noexcept {
    nest_ = elements_.nests[number_ % elements_.nests.size()];
    nest_.at += static_cast<std::ptrdiff_t>(number_ / elements_.nests.size()) * elements_.extent;
  }

  const Elements& elements_;
  Nest nest_;
  std::uint64_t number_ = 0;
  std::uint64_t done_ = 0;  // of the nest's packed bytes
};

bool is_fine(const Elements& elements) noexcept {
  return elements.nests.size() > 1 && elements.element_bytes / elements.nests.size() < kLeastNest;
}

}  // namespace

void copy(const Elements& to, const Elements& from, bool past_caches) noexcept {
  const std::uint64_t bytes = to.bytes();
  if (bytes == 0) return;
  if (!past_caches && to.is_one_run() && from.is_one_run()) {
    return copy_bytes(to.run(), from.run(), bytes);
  }
  if (is_fine(to) || is_fine(from)) return copy_by_buffer(to, from, 0, bytes);
  Sequence there(to);
  Sequence here(from);
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t part = std::min(there.left(), here.left());
    const auto written = there.next(part);
    const auto read = here.next(part);
    const auto grid = written && read ? grid_of(*written, *read) : std::nullopt;
    if (grid) {
      copy(reinterpret_cast<std::byte*>(to.buffer + static_cast<std::uintptr_t>(written->at)),
           reinterpret_cast<const std::byte*>(from.buffer + static_cast<std::uintptr_t>(read->at)),
           *grid, past_caches);
    } else {
      copy_by_buffer(to, from, at, at + part);
    }
    there.skip(part);
    here.skip(part);
    at += part;
  }
}

}  // namespace weft::engine
