#include "mpi/calls/blocks.hpp"

namespace weft::mpi {

namespace {

/// Four at a time: most counts of a sparse call are 0.
template <class Integer>
int find_other_than_zero_among(const std::byte* values, int from, int count) {
  const auto value = [&](int i) {
    Integer one;
    std::memcpy(&one, values + sizeof one * static_cast<std::size_t>(i), sizeof one);
    return one;
  };
  for (; from + 4 <= count; from += 4) {
    if ((value(from) | value(from + 1) | value(from + 2) | value(from + 3)) != 0) break;
  }
  while (from < count && value(from) == 0) ++from;
  return from;
}

}  // namespace

int Integers::find_other_than_zero(int from, int count) const {
  const auto* const values = static_cast<const std::byte*>(values_);
  return is_wide_ ? find_other_than_zero_among<std::int64_t>(values, from, count)
                  : find_other_than_zero_among<int>(values, from, count);
}

/// Calls `act` with each irregular block whose count is not 0.
template <class Act>
void Blocks::for_each_other_than_empty(Act act) const {
  for (int block = counts_.find_other_than_zero(0, blocks_); block < blocks_;
       block = counts_.find_other_than_zero(block + 1, blocks_)) {
    act(block);
  }
}

bool Blocks::look_up_irregular(std::vector<Part>& parts) {
  bool is_valid = true;
  if (!layout_.valid || counts_.is_null() || displacements_.is_null()) return false;
  parts.assign(static_cast<std::size_t>(blocks_), Part());
  parts_ = &parts;
  first_ = static_cast<std::byte*>(buffer_);
  for_each_other_than_empty([&](int block) {
    const MPI_Count count = counts_[block];
    const auto bytes = static_cast<std::size_t>(count * layout_.size_bytes);
    parts[static_cast<std::size_t>(block)] = {.offset = total_bytes_, .bytes = bytes};
    if (total_bytes_ == 0 && bytes != 0) first_ = memory(block);
    total_bytes_ += bytes;
    is_valid = is_valid && count >= 0;
  });
  if (!is_valid) return false;
  if (gaps_ && is_direct_memory_) keep_gaps(parts);
  direct_ = is_direct_memory_ && (gaps_ || are_consecutive());
  return buffer_ != nullptr || !layout_.contiguous || total_bytes_ == 0;
}

/// Makes offsets relative to the block with the lowest address.
void Blocks::keep_gaps(std::vector<Part>& parts) {
  const std::byte* first = first_;
  for_each_other_than_empty([&](int block) {
    Part& part = parts[static_cast<std::size_t>(block)];
    std::byte* begin = memory(block);
    // Wraps around for addresses below the first block; corrected below.
    part.offset = part.bytes == 0 ? 0 : static_cast<std::size_t>(begin - first);
    if (part.bytes != 0 && begin < first_) first_ = begin;
  });
  if (first_ == first) return;
  const auto more = static_cast<std::size_t>(first - first_);
  for_each_other_than_empty([&](int block) {
    Part& part = parts[static_cast<std::size_t>(block)];
    if (part.bytes != 0) part.offset += more;
  });
}

bool Blocks::are_consecutive() const {
  const std::byte* first = first_memory();
  bool are = true;
  for_each_other_than_empty([&](int block) {
    are = are && (bytes(block) == 0 || memory(block) == first + offset(block));
  });
  return are;
}

std::byte* Blocks::memory(int block) const {
  const MPI_Count elements = irregular_ ? displacements_[block] : block * count_;
  return static_cast<std::byte*>(buffer_) + elements * layout_.extent_bytes;
}

std::vector<std::size_t> Blocks::sizes() const {
  std::vector<std::size_t> all;
  for (int block = 0; block < blocks_; ++block) all.push_back(bytes(block));
  return all;
}

std::size_t Blocks::offset(int block) const {
  return irregular_ ? (*parts_)[static_cast<std::size_t>(block)].offset
                    : bytes(0) * static_cast<std::size_t>(block);
}

bool Blocks::is_same_block(int block, const Blocks& other) const {
  return type_ == other.type_ && count(block) == other.count(0) && memory(block) == other.memory(0);
}

bool Blocks::has_same_arguments(const Blocks& other) const {
  return irregular_ && other.irregular_ && type_ == other.type_ && buffer_ == other.buffer_ &&
         counts_.is_same_array(other.counts_);
}

const std::byte* Blocks::pack_all(const Layouts& layouts, Buffer& packed) const {
  std::byte* result = packed.reserve(total_bytes_);
  if (irregular_) {
    for (int block = 0; block < blocks_; ++block) pack(layouts, block, result);
  } else {
    layouts.pack(buffer_, blocks_ * count_, layout_, result);
  }
  return result;
}

void Blocks::unpack_all(const Layouts& layouts, const std::byte* output) const {
  if (!irregular_) return layouts.unpack(output, buffer_, blocks_ * count_, layout_);
  for (int block = 0; block < blocks_; ++block) {
    layouts.unpack(output + offset(block), memory(block), counts_[block], layout_);
  }
}

void Blocks::pack(const Layouts& layouts, int block, std::byte* packed) const {
  if (direct_) return;
  layouts.pack(memory(block), count(block), layout_, packed + offset(block));
}

void Blocks::take_part(const Layouts& layouts, int block, std::size_t from, std::size_t to,
                       std::byte* into, std::byte* element) const {
  if (is_direct_memory_) {
    std::memcpy(into, memory(block) + from, to - from);
  } else {
    layouts.pack_part(memory(block), layout_, static_cast<MPI_Count>(from),
                      static_cast<MPI_Count>(to), into, element);
  }
}

std::optional<engine::Elements> Blocks::elements(int block, engine::Nest& in_a_row) const {
  if (is_direct_memory_) {
    in_a_row = {.at = 0, .run_bytes = bytes(block)};
    const auto begin = reinterpret_cast<std::uintptr_t>(memory(block));
    return engine::Elements{begin, {&in_a_row, 1}, bytes(block), 0, 1};
  }
  if (!copies_by_map(buffer_, layout_)) return std::nullopt;
  return layout_.map->elements(memory(block), static_cast<std::uint64_t>(count(block)),
                               layout_.extent_bytes);
}

void Blocks::put_part(const Layouts& layouts, int block, std::size_t from, std::size_t to,
                      const std::byte* piece, std::byte* element) const {
  if (is_direct_memory_) {
    std::memcpy(memory(block) + from, piece, to - from);
  } else {
    layouts.unpack_part(piece, memory(block), layout_, static_cast<MPI_Count>(from),
                        static_cast<MPI_Count>(to), element);
  }
}

}  // namespace weft::mpi
