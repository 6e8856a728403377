// Message layout: the memory of a message at one end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::verbs {

/// Memory that a message is read from or written to: `count` blocks at equal distances. `key` is
/// the endpoint's key of registered memory, else 0.
struct Layout {
  std::byte* base = nullptr;
  std::uint64_t block_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 0;
  std::uint32_t key = 0;

  std::uint64_t bytes() const noexcept { return block_bytes * count; }
};

/// Copies `bytes` from position `from` of a layout's bytes to contiguous memory, or back.
void copy_out(const Layout& layout, std::uint64_t from, std::byte* to, std::size_t bytes) noexcept;
void copy_in(const Layout& layout, std::uint64_t to, const std::byte* from,
             std::size_t bytes) noexcept;

}  // namespace weft::verbs
