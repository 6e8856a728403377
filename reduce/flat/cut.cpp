#include "reduce/flat/cut.hpp"

#include <algorithm>

#include "base/cast.hpp"

namespace weft::reduce {

plan::Slice part_of(const plan::Slice& slice, const Block& block) {
  return plan::Slice::contiguous(slice.space, slice.owner, slice.offset + block.offset,
                                 block.bytes);
}

Cut::Cut(std::uint64_t bytes, std::uint64_t grain, int parts)
    : bytes_(bytes),
      grain_(grain),
      parts_(parts),
      each_(ceil_div(bytes, grain) / static_cast<std::uint64_t>(parts)),
      larger_(ceil_div(bytes, grain) % static_cast<std::uint64_t>(parts)) {}

std::uint64_t Cut::begin(int part) const {
  const auto index = static_cast<std::uint64_t>(part);
  return std::min(bytes_, (index * each_ + std::min(index, larger_)) * grain_);
}

Block Cut::parts_between(int first, int last) const {
  return {begin(first), begin(last) - begin(first)};
}

std::vector<Block> segments(const Block& block, std::uint64_t segment_bytes, std::uint64_t grain) {
  if (segment_bytes == 0 || segment_bytes >= block.bytes) return {block};
  const std::uint64_t size = std::max(segment_bytes - segment_bytes % grain, grain);
  std::vector<Block> list;
  for (std::uint64_t at = 0; at < block.bytes; at += size) {
    list.push_back({block.offset + at, std::min(size, block.bytes - at)});
  }
  return list;
}

}  // namespace weft::reduce
