// Slice: strided bytes of one memory space, which one side of an op touches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::plan {

enum class Space : std::uint8_t {
  input,    ///< The caller's send buffer. Only its owner may write it, and plans do not.
  output,   ///< The caller's receive buffer.
  stage,    ///< Shared by the ranks of a node, registered with the NIC, owned by one rank.
  scratch,  ///< Private to its owner, registered with the NIC.
};

std::string_view to_string(Space space);

/// `count` blocks of `block_bytes`, the i-th at `offset + i * stride` of a space of rank `owner`.
///
/// Canonical, so that slices of the same bytes compare equal: an empty slice is {space, owner, 0,
/// 0, 0, 0}; a contiguous one has count 1 and stride equal to block_bytes. The factories make no
/// others.
struct Slice {
  Space space = Space::input;
  int owner = 0;
  std::uint64_t offset = 0;       // bytes
  std::uint64_t block_bytes = 0;  // bytes
  std::uint64_t count = 0;        // blocks
  std::uint64_t stride = 0;       // bytes from one block's start to the next's; >= block_bytes

  static Slice contiguous(Space space, int owner, std::uint64_t offset, std::uint64_t bytes) {
    // The common case, as plans have thousands of contiguous slices.
    if (bytes != 0 && offset < kLimit && bytes <= kLimit - offset) {
      return {space, owner, offset, bytes, 1, bytes};
    }
    return strided(space, owner, offset, bytes, 1, bytes);
  }
  /// UsageError when blocks would overlap (stride < block_bytes) or the end passes 2^63.
  static Slice strided(Space space, int owner, std::uint64_t offset, std::uint64_t block_bytes,
                       std::uint64_t count, std::uint64_t stride);

  std::uint64_t bytes() const { return block_bytes * count; }
  bool empty() const { return count == 0; }
  bool is_contiguous() const { return count <= 1; }
  /// One past the last byte.
  std::uint64_t end() const {
    return empty() ? offset : offset + (count - 1) * stride + block_bytes;
  }

  bool operator==(const Slice&) const = default;

  static constexpr std::uint64_t kLimit = 1ull << 63;  // of the end
};

/// A list of slices that join as they come: neighbours into one block, blocks of one size at equal
/// distances into one strided slice. Empty slices are dropped. Greedy from the left: minimal for
/// arithmetic progressions, as placements of ranks give them.
class JoinedSlices {
 public:
  void add(const Slice& slice);
  /// All that were added; what is added later does not join them. The list is empty then.
  std::vector<Slice> take();
  bool empty() const { return list_.empty() && block_.empty(); }

 private:
  void end_block();

  std::vector<Slice> list_;
  Slice block_;  // the last one, which the next may touch
};

/// The same bytes in the same order in as few slices as JoinedSlices make of them.
std::vector<Slice> coalesce(std::span<const Slice> slices);

/// Makes `next` part of `slice`, if both are contiguous and it begins where that ends. Neither may
/// be empty.
bool join(Slice& slice, const Slice& next);

/// `bytes` bytes from position `from` on, in the slice's own order; as few slices as strides allow.
std::vector<Slice> subslices(const Slice& slice, std::uint64_t from, std::uint64_t bytes);

/// The first run of bytes that both touch, within one block of each. Linear in the counts.
std::optional<Slice> overlap(const Slice& a, const Slice& b);

/// "input@3:128+64" (64 bytes at 128), "stage@0:0+64x8/512" (8 blocks of 64, 512 apart).
std::string to_string(const Slice& slice);

/// Reads what to_string writes; UsageError names the text and what is wrong with it.
Slice parse_slice(std::string_view text);

}  // namespace weft::plan
