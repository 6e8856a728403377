// Copying of bytes: std::memcpy without its slow case on AMD's Zen 3 and 4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft {

/// Copies as std::memcpy. From 2112 bytes on, glibc copies by `rep movsb` on processors that
/// declare it fast. AMD's Zen 3 and 4 take twenty times as long for it when the destination lies 1
/// to 31 bytes behind the source, modulo 4 KiB, as a large block of malloc lies to a page. In that
/// case this copies in pieces too short for `rep movsb`. bench_copy_bytes measures both.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  constexpr std::size_t kPiece_bytes = 2048;
  constexpr std::uintptr_t kPage_bytes = 4096;
  constexpr std::uintptr_t kSlowDistances = 31;
  const std::uintptr_t ahead =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage_bytes;
  const std::size_t most = ahead - 1 < kSlowDistances ? kPiece_bytes : bytes;
  auto* dst = static_cast<std::byte*>(to);
  const auto* src = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const std::size_t piece = std::min(bytes, most);
    std::memcpy(dst, src, piece);
    dst += piece;
    src += piece;
    bytes -= piece;
  }
}

}  // namespace weft
