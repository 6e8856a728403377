#include "mpi/calls/typed_blocks.hpp"

#include <cstdint>

#include "mpi/host/host.hpp"

namespace weft::mpi {

void TypedBlocks::keep(Arrays& arrays, int blocks) {
  if (is_in_place()) return;
  counts_.keep(arrays, blocks);
  displacements_.keep(arrays, blocks);
  types_ = arrays.keep(types_, blocks);
}

void TypedBlocks::add_types(Handles& handles, int blocks) const {
  if (is_in_place() || types_ == nullptr) return;
  for (int block = 0; block < blocks; ++block) handles.add(types_[block]);
}

bool TypedBlocks::look_up(const Layouts& layouts, int blocks, std::vector<Part>& parts) {
  if (counts_.is_null() || displacements_.is_null() || types_ == nullptr) return false;
  blocks_ = blocks;
  parts.resize(static_cast<std::size_t>(blocks));
  parts_ = &parts;
  for (int block = 0; block < blocks; ++block) {
    Part& part = parts[static_cast<std::size_t>(block)];
    part = {.offset = total_bytes_, .bytes = 0};
    if (!kChecksTypesOfEmptyBlocks && counts_[block] == 0) continue;
    const Layout layout = layouts.of(types_[block]);
    if (!layout.valid || counts_[block] < 0) return false;
    const auto bytes = static_cast<std::size_t>(counts_[block] * layout.size_bytes);
    part.bytes = bytes;
    total_bytes_ += bytes;
    if (bytes == 0) continue;
    direct_ &= layout.contiguous && !device_memory::contains(memory(block));
    if (lowest_ == nullptr || memory(block) < lowest_) lowest_ = memory(block);
  }
  if (!direct_) return true;
  for (int block = 0; block < blocks; ++block) {
    Part& part = parts[static_cast<std::size_t>(block)];
    part.offset = part.bytes == 0 ? 0 : static_cast<std::size_t>(memory(block) - lowest_);
  }
  return true;
}

std::optional<engine::Elements> TypedBlocks::first_elements(const Layouts& layouts,
                                                            engine::Nest& in_a_row) const {
  if (counts_.is_null() || displacements_.is_null() || types_ == nullptr) return std::nullopt;
  const MPI_Count count = counts_[0];
  if (count <= 0) return std::nullopt;
  Layout layout;
  layouts.find(types_[0], layout);
  std::byte* const begin = memory(0);
  if (!layout.valid || device_memory::contains(begin)) return std::nullopt;
  if (layout.contiguous) {
    const auto bytes = static_cast<std::size_t>(count * layout.size_bytes);
    if (buffer_ == nullptr) return std::nullopt;
    in_a_row = {.at = 0, .run_bytes = bytes};
    return engine::Elements{reinterpret_cast<std::uintptr_t>(begin), {&in_a_row, 1}, bytes, 0, 1};
  }
  if (!copies_by_map(begin, layout)) return std::nullopt;
  return layout.map->elements(begin, static_cast<std::uint64_t>(count), layout.extent_bytes);
}

std::byte* TypedBlocks::output(Buffer& packed) const {
  return direct_ ? lowest_ : packed.reserve(total_bytes_);
}

void TypedBlocks::pack(const Layouts& layouts, std::byte* packed) const {
  for (int block = 0; !direct_ && block < blocks_; ++block) {
    const Part& part = (*parts_)[static_cast<std::size_t>(block)];
    if (part.bytes == 0) continue;
    layouts.pack(memory(block), counts_[block], layouts.of(types_[block]), packed + part.offset);
  }
}

void TypedBlocks::deliver(const Layouts& layouts, const std::byte* output) const {
  for (int block = 0; !direct_ && block < blocks_; ++block) {
    const Part& part = (*parts_)[static_cast<std::size_t>(block)];
    if (part.bytes == 0) continue;
    layouts.unpack(output + part.offset, memory(block), counts_[block], layouts.of(types_[block]));
  }
}

void TypedBlocks::reserve_whole(const Layouts& layouts, Buffer& packed) {
  std::vector<std::size_t> offsets;
  std::size_t all = 0;
  for (int block = 0; block < blocks_; ++block) {
    const std::size_t bytes = (*parts_)[static_cast<std::size_t>(block)].bytes;
    if (bytes == 0) continue;
    Layout layout;
    layouts.find(types_[block], layout);
    const bool is_plain = layout.contiguous && !device_memory::contains(memory(block));
    if (is_plain || copies_by_map(memory(block), layout)) continue;
    offsets.resize(parts_->size(), SIZE_MAX);
    offsets[static_cast<std::size_t>(block)] = all;
    all += bytes;
  }
  whole_.assign(offsets.size(), nullptr);
  if (all == 0) return;
  std::byte* const begin = packed.reserve(all);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != SIZE_MAX) whole_[i] = begin + offsets[i];
  }
}

void TypedBlocks::pack_whole(const Layouts& layouts, Buffer& packed) {
  reserve_whole(layouts, packed);
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    if (whole_[i] == nullptr) continue;
    const auto block = static_cast<int>(i);
    layouts.pack(memory(block), counts_[block], layouts.of(types_[block]), whole_[i]);
  }
}

void TypedBlocks::unpack_whole(const Layouts& layouts) const {
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    if (whole_[i] == nullptr) continue;
    const auto block = static_cast<int>(i);
    layouts.unpack(whole_[i], memory(block), counts_[block], layouts.of(types_[block]));
  }
}

void TypedBlocks::place(const Layouts& layouts) {
  const auto blocks = static_cast<std::size_t>(blocks_);
  placed_ = PlacedBlocks(blocks);
  placed_.buffer = buffer_;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t bytes = placed_.sizes[i] = (*parts_)[i].bytes;
    if (bytes == 0) continue;
    if (!whole_.empty() && whole_[i] != nullptr) {
      placed_.place(i, whole_[i], bytes);
      continue;
    }
    const auto block = static_cast<int>(i);
    Layout layout;
    layouts.find(types_[block], layout);
    if (layout.contiguous) {
      placed_.place(i, memory(block), bytes);
    } else {
      placed_.elements[i] = layout.map->elements(
          memory(block), static_cast<std::uint64_t>(counts_[block]), layout.extent_bytes);
    }
  }
}

std::optional<PlacedBlocks> TypedBlocks::take_placed() {
  return whole_.empty() ? std::optional(std::move(placed_)) : std::nullopt;
}

}  // namespace weft::mpi
