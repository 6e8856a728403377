#include "kernels/kernel.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace weft::kernels {

namespace {

// A strip of each source that is followed at once, and of dst, fit the nearest cache together;
// and the strips are pages, of which the nearest TLB knows more than that.
constexpr std::size_t kAtOnce = 7;
constexpr std::size_t kStrip_bytes = 4096;

}  // namespace

void fold_in_strips(Strip strip, std::size_t element_bytes, std::byte* dst,
                    const std::byte* const* sources, std::size_t count, std::size_t elements) {
  if (count == 1) {
    if (dst != sources[0] && elements > 0) copy_bytes(dst, sources[0], elements * element_bytes);
    return;
  }
  if (count <= kAtOnce) return strip(dst, sources, count, elements);
  const std::size_t most = kStrip_bytes / element_bytes;
  for (std::size_t begin = 0; begin < elements; begin += most) {
    const std::size_t offset = begin * element_bytes;
    const std::size_t size = std::min(most, elements - begin);
    const std::byte* follow[kAtOnce];
    follow[0] = sources[0] + offset;
    for (std::size_t next = 1; next < count;) {
      std::size_t used = 1;
      while (used < kAtOnce && next < count) follow[used++] = sources[next++] + offset;
      strip(dst + offset, follow, used, size);
      follow[0] = dst + offset;
    }
  }
}

}  // namespace weft::kernels
