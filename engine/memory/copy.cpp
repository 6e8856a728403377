#include "engine/memory/copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "engine/memory/stream.hpp"

namespace weft::engine {

namespace {

using verbs::Layout;

/// Blocks of one small size known to the compiler: plain loads and stores instead of calls.
template <std::size_t kBytes>
void copy_blocks(std::byte* dst, std::uint64_t dst_stride, const std::byte* src,
                 std::uint64_t src_stride, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(dst + i * dst_stride, src + i * src_stride, kBytes);
  }
}

// Shorter ones do not fill the time until their lines are written.
constexpr std::uint64_t kStreamedBytes = 4 << 10;

void copy_equal_blocks(const Layout& dst, const Layout& src, std::uint64_t block,
                       std::uint64_t count, bool past_caches) noexcept {
  if (past_caches && block >= kStreamedBytes) {
    for (std::uint64_t i = 0; i < count; ++i) {
      stream(dst.base + i * dst.stride, src.base + i * src.stride, block);
    }
    return;
  }
  switch (block) {
    case 4:
      return copy_blocks<4>(dst.base, dst.stride, src.base, src.stride, count);
    case 8:
      return copy_blocks<8>(dst.base, dst.stride, src.base, src.stride, count);
    case 16:
      return copy_blocks<16>(dst.base, dst.stride, src.base, src.stride, count);
    case 32:
      return copy_blocks<32>(dst.base, dst.stride, src.base, src.stride, count);
    case 64:
      return copy_blocks<64>(dst.base, dst.stride, src.base, src.stride, count);
    default:
      for (std::uint64_t i = 0; i < count; ++i) {
        copy_bytes(dst.base + i * dst.stride, src.base + i * src.stride, block);
      }
  }
}

}  // namespace

void copy(const Layout& dst, const Layout& src, bool past_caches) noexcept {
  // A block of a call in place, that is there already.
  if (dst.base == src.base && dst.block_bytes == src.block_bytes && dst.stride == src.stride)
    return;
  if (dst.block_bytes == src.block_bytes) {
    if (dst.count == 1 && !past_caches) {
      copy_bytes(dst.base, src.base, dst.block_bytes);
    } else {
      copy_equal_blocks(dst, src, dst.block_bytes, dst.count, past_caches);
    }
  } else if (dst.count == 1 && dst.block_bytes == src.bytes()) {
    const Layout packed{dst.base, src.block_bytes, src.count, src.block_bytes, 0};
    copy_equal_blocks(packed, src, src.block_bytes, src.count, past_caches);
  } else if (src.count == 1) {
    const Layout packed{src.base, dst.block_bytes, dst.count, dst.block_bytes, 0};
    copy_equal_blocks(dst, packed, dst.block_bytes, dst.count, past_caches);
  } else {
    // Blocks of two sizes: each block of the destination takes what it needs of the source.
    for (std::uint64_t i = 0; i < dst.count; ++i) {
      verbs::copy_out(src, i * dst.block_bytes, dst.base + i * dst.stride, dst.block_bytes);
    }
  }
}

}  // namespace weft::engine
