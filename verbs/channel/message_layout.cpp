#include "verbs/channel/message_layout.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace weft::verbs {

namespace {

/// Calls use(memory, bytes) for each contiguous run of `bytes` bytes from position `from`.
template <class Use>
void for_each_run(const Layout& layout, std::uint64_t from, std::uint64_t bytes, Use use) noexcept {
  if (layout.count == 1) return use(layout.base + from, bytes);
  std::uint64_t block = from / layout.block_bytes;
  std::uint64_t within = from - block * layout.block_bytes;
  while (bytes != 0) {
    const std::uint64_t run = std::min(bytes, layout.block_bytes - within);
    use(layout.base + block * layout.stride + within, run);
    bytes -= run;
    ++block;
    within = 0;
  }
}

}  // namespace

void copy_out(const Layout& layout, std::uint64_t from, std::byte* to, std::size_t bytes) noexcept {
  for_each_run(layout, from, bytes, [&](const std::byte* memory, std::uint64_t run) {
    copy_bytes(to, memory, run);
    to += run;
  });
}

void copy_in(const Layout& layout, std::uint64_t to, const std::byte* from,
             std::size_t bytes) noexcept {
  for_each_run(layout, to, bytes, [&](std::byte* memory, std::uint64_t run) {
    copy_bytes(memory, from, run);
    from += run;
  });
}

}  // namespace weft::verbs
