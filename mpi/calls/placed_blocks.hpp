// Placed blocks: where the blocks of a buffer lie, found out once for calls with this buffer or
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/copying/nest.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// A block for each rank. Moved, never copied: `elements` point into `in_a_row`.
struct PlacedBlocks {
  PlacedBlocks() = default;
  explicit PlacedBlocks(std::size_t blocks) : sizes(blocks), elements(blocks), in_a_row(blocks) {}
  PlacedBlocks(PlacedBlocks&&) = default;
  PlacedBlocks& operator=(PlacedBlocks&&) = default;

  const std::byte* buffer = nullptr;
  std::vector<std::size_t> sizes;          // in bytes
  std::vector<engine::Elements> elements;  // of empty blocks nothing
  std::vector<engine::Nest> in_a_row;      // of blocks in one piece

  const engine::Elements& operator[](int block) const noexcept {
    return elements[static_cast<std::size_t>(block)];
  }
  /// A block that is `bytes` in one piece.
  void place(std::size_t block, const std::byte* begin, std::size_t bytes) {
    in_a_row[block] = {.at = 0, .run_bytes = bytes};
    elements[block] = {reinterpret_cast<std::uintptr_t>(begin), {&in_a_row[block], 1}, bytes, 0, 1};
  }
  /// The same blocks of another buffer.
  void move_to(const std::byte* other) {
    if (other == buffer) return;
    // Of addresses, as the two may have nothing to do with each other.
    const auto distance =
        reinterpret_cast<std::uintptr_t>(other) - reinterpret_cast<std::uintptr_t>(buffer);
    for (engine::Elements& block : elements) block.buffer += distance;
    buffer = other;
  }
};

/// What packs and unpacks them, and says where they lie. Both must outlive it.
inline Packer packer_of(const PlacedBlocks& send, const PlacedBlocks& receive) {
  // Each function has one pointer, which takes no memory.
  return {.pack = [&send](int rank, std::size_t from, std::size_t to,
                          std::byte* packed) { engine::pack(send[rank], from, to, packed); },
          .unpack =
              [&receive](int rank, std::size_t from, std::size_t to, const std::byte* packed) {
                engine::unpack(receive[rank], from, to, packed);
              },
          .send_elements = [&send](int rank) { return &send[rank]; },
          .receive_elements = [&receive](int rank) { return &receive[rank]; }};
}

}  // namespace weft::mpi
