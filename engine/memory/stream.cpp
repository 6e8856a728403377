#include "engine/memory/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "base/env.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::engine {

namespace {

/// What the C library knows, mostly of the processor itself: sysfs may be hidden in a container.
std::uint64_t ask_library() {
  long most = 0;
  for (const int name : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE}) {
    most = std::max(most, ::sysconf(name));
  }
  return static_cast<std::uint64_t>(most);
}

std::uint64_t read_cache_bytes() {
  std::uint64_t most = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (!(file >> text)) break;
    try {
      most = std::max(most, env::parse_bytes("cache size", text, 0, std::uint64_t{1} << 40));
    } catch (const std::exception&) {
      continue;
    }
  }
  if (most == 0) most = ask_library();
  constexpr std::uint64_t kGuess = 32 << 20;
  return most != 0 ? most : kGuess;
}

}  // namespace

#if defined(__SSE2__)

// Memory is the bound here: wider vectors gain nothing, and these every processor has.
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
