#include "engine/copying/copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/copy_bytes.hpp"
#include "base/file.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// Streaming shorter blocks does not pay: they are done before their lines are written.
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

/// From the C library, which mostly asks the processor: a container may hide sysfs.
std::uint64_t ask_library() {
  long most = 0;
  for (const int name : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    most = std::max(most, ::sysconf(name));
  }
  return static_cast<std::uint64_t>(most);
}

/// From a file with a text such as "512K". Nothing where there is no such file, 0 where its text is
/// another.
std::optional<std::uint64_t> read_size(const char* path) noexcept {
  const File file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 32> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size() - 1);
  if (got <= 0) return 0;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + got, number);
  constexpr std::string_view kUnits = "KMG";
  const auto unit = kUnits.find(*parsed.ptr);
  if (parsed.ec != std::errc() || unit == kUnits.npos || number >> 32 != 0) return 0;
  return number << (unit + 1) * 10;
}

/// Of the caches from a number on; 0: there are none.
std::uint64_t largest_cache_from(int first) noexcept {
  std::uint64_t most = 0;
  for (int index = first; index < 8; ++index) {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/sys/devices/system/cpu/cpu0/cache/index%d/size",
                  index);
    const auto size = read_size(path.data());
    if (!size) break;
    most = std::max(most, *size);
  }
  return most;
}

std::uint64_t read_cache_bytes() noexcept {
  // The first three are two of the first level and one of the second one, where there is a third.
  std::uint64_t most = largest_cache_from(3);
  if (most == 0) most = largest_cache_from(0);
  if (most == 0) most = ask_library();
  constexpr std::uint64_t kGuess = 32 << 20;
  return most != 0 ? std::max(most, kLeastLastLevelCache) : kGuess;
}

}  // namespace

void copy(const Layout& dst, const Layout& src, bool past_caches) noexcept {
  // A call in place: the block is already there.
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

#if defined(__SSE2__)

// Memory is the bound: wider vectors gain nothing, and every x86-64 processor has these.
void stream(std::byte* dst, const std::byte* src, std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(dst);
  const std::size_t head = std::min(bytes, (kLine - address % kLine) % kLine);
  std::memcpy(dst, src, head);
  std::size_t at = head;
  // A whole line at a time, so that it leaves the core in one piece.
  for (; at + kLine <= bytes; at += kLine) {
    auto* to = reinterpret_cast<__m128i*>(dst + at);
    const auto* from = reinterpret_cast<const __m128i*>(src + at);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();
  std::memcpy(dst + at, src + at, bytes - at);
}

#else

void stream(std::byte* dst, const std::byte* src, std::size_t bytes) noexcept {
  std::memcpy(dst, src, bytes);
}

#endif

std::uint64_t last_level_cache_bytes() noexcept {
  static const std::uint64_t bytes = read_cache_bytes();
  return bytes;
}

}  // namespace weft::engine
