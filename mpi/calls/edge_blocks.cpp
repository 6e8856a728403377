#include "mpi/calls/edge_blocks.hpp"

#include "mpi/datatypes/device_memory.hpp"

namespace weft::mpi {

void EdgeBlocks::keep(Arrays& arrays, int blocks) {
  if (!has_arrays() || is_in_place()) return;
  counts_.keep(arrays, blocks);
  displacements_.keep(arrays, blocks);
  types_ = arrays.keep(types_, blocks);
}

void EdgeBlocks::add_types(Handles& handles, int blocks) const {
  if (form_ != Form::typed) return handles.add(type_);
  if (is_in_place() || types_ == nullptr) return;
  for (int block = 0; block < blocks; ++block) handles.add(types_[block]);
}

const Layout& EdgeBlocks::layout(const Layouts& layouts, int block, Layout& own) const {
  if (form_ != Form::typed) return layout_;
  layouts.find(types_[block], own);
  return own;
}

std::byte* EdgeBlocks::memory(const Layout& layout, int block) const {
  switch (form_) {
    case Form::same:
      return buffer_;
    case Form::row:
      return buffer_ + block * count_ * layout.extent_bytes;
    case Form::irregular:
      return buffer_ + displacements_[block] * layout.extent_bytes;
    case Form::typed:
      break;
  }
  return buffer_ + displacements_[block];
}

bool EdgeBlocks::look_up(const Layouts& layouts, std::span<const Neighbour> neighbours,
                         std::vector<Edge>& edges) {
  neighbours_ = neighbours;
  edges.clear();
  if (neighbours.empty()) return true;
  if (has_arrays() && (counts_.is_null() || displacements_.is_null())) return false;
  if (form_ == Form::typed && types_ == nullptr) return false;
  if (form_ != Form::typed) layouts.find_once(type_, layout_);
  Layout own;
  for (const auto& [rank, block] : neighbours) {
    const MPI_Count elements = count(block);
    if (elements == 0) continue;
    const Layout& one = layout(layouts, block, own);
    if (elements < 0 || !one.valid) return false;
    const auto bytes = static_cast<std::size_t>(elements * one.size_bytes);
    if (bytes == 0) continue;
    if (buffer_ == nullptr && one.contiguous && form_ != Form::typed) return false;
    std::byte* const begin = memory(one, block);
    direct_ &= one.contiguous && !device_memory::contains(begin);
    if (lowest_ == nullptr || begin < lowest_) lowest_ = begin;
    edges.push_back({rank, reinterpret_cast<std::uintptr_t>(begin), bytes});
  }
  for (Edge& edge : edges) {
    if (direct_) {
      edge.offset -= reinterpret_cast<std::uintptr_t>(lowest_);
    } else {
      edge.offset = form_ == Form::same ? 0 : total_bytes_;
    }
    total_bytes_ = form_ == Form::same ? edge.bytes : total_bytes_ + edge.bytes;
  }
  return true;
}

/// Calls body(memory, count, layout, offset) for the blocks that are packed, in the order of edges.
template <class Body>
void EdgeBlocks::for_each_block(const Layouts& layouts, Body body) const {
  std::size_t offset = 0;
  Layout own;
  for (const Neighbour& neighbour : neighbours_) {
    const MPI_Count elements = count(neighbour.block);
    if (elements == 0) continue;
    const Layout& one = layout(layouts, neighbour.block, own);
    const auto bytes = static_cast<std::size_t>(elements * one.size_bytes);
    if (bytes == 0) continue;
    body(memory(one, neighbour.block), elements, one, offset);
    if (form_ == Form::same) return;
    offset += bytes;
  }
}

const std::byte* EdgeBlocks::input(const Layouts& layouts, Buffer& packed) const {
  if (direct_) return lowest_;
  std::byte* const all = packed.reserve(total_bytes_);
  for_each_block(layouts,
                 [&](const std::byte* memory, MPI_Count count, const Layout& layout,
                     std::size_t offset) { layouts.pack(memory, count, layout, all + offset); });
  return all;
}

void EdgeBlocks::deliver(const Layouts& layouts, const std::byte* output) const {
  if (direct_) return;
  for_each_block(layouts,
                 [&](std::byte* memory, MPI_Count count, const Layout& layout, std::size_t offset) {
                   layouts.unpack(output + offset, memory, count, layout);
                 });
}

}  // namespace weft::mpi
