// Buffer arguments of MPI calls: blocks of elements of one datatype, a block for each rank or a
// single block.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "mpi/calls/arguments.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/world/communicators.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// An array of counts or displacements: int, or 64 bits wide in the calls of MPI 4
/// (MPI_Alltoall_c).
class Integers {
 public:
  template <class Integer>
  Integers(const Integer* values)  // NOLINT(google-explicit-constructor)
      : values_(values), is_wide_(sizeof(Integer) == sizeof(std::int64_t)) {
    static_assert(std::is_signed_v<Integer>);
    static_assert(sizeof(Integer) == sizeof(std::int64_t) || sizeof(Integer) == sizeof(int));
  }

  /// Goes on with a copy of its `count` values.
  void keep(Arrays& arrays, int count) {
    const std::size_t width = is_wide_ ? sizeof(std::int64_t) : sizeof(int);
    values_ = arrays.keep(values_, width * static_cast<std::size_t>(count));
  }
  bool is_null() const { return values_ == nullptr; }
  /// The first i from `from` on whose value is not 0, or `count`.
  int find_other_than_zero(int from, int count) const;
  bool is_same_array(const Integers& other) const { return values_ == other.values_; }
  MPI_Count operator[](int i) const {
    if (!is_wide_) return static_cast<const int*>(values_)[i];
    // A copy, as the binding has two different types of 64 bits.
    std::int64_t value;
    std::memcpy(&value,
                static_cast<const std::byte*>(values_) + sizeof value * static_cast<std::size_t>(i),
                sizeof value);
    return value;
  }

 private:
  const void* values_;
  bool is_wide_;
};

/// Blocks of elements in the program's memory. Weft's calls work on their bytes in rank order and
/// without gaps: the program's buffer is used where it has this layout and is this processor's
/// memory, else the blocks are packed.
/// With `gaps` contiguous blocks are used at any displacements: allowed where the offsets of parts
/// stay on this rank, as displacements differ between ranks.
class Blocks {
 public:
  /// Consecutive blocks of `count` elements each; look_up() is given their number.
  Blocks(const void* buffer, MPI_Count count, MPI_Datatype type)
      : buffer_(const_cast<void*>(buffer)), type_(type), count_(count) {}
  /// Block i has counts[i] elements and begins displacements[i] elements behind `buffer`.
  Blocks(const void* buffer, Integers counts, Integers displacements, MPI_Datatype type)
      : buffer_(const_cast<void*>(buffer)),
        type_(type),
        irregular_(true),
        counts_(counts),
        displacements_(displacements) {}

  /// Looks up the datatype and reads the counts. False: the host refuses these arguments. Irregular
  /// blocks are written to `parts`, which must live as long as this object.
  bool look_up(const Layouts& layouts, int blocks, std::vector<Part>& parts, bool gaps = false) {
    gaps_ = gaps;
    blocks_ = blocks;
    layouts.find_once(type_, layout_);
    is_direct_memory_ = layout_.contiguous && !device_memory::contains(buffer_);
    if (irregular_) return look_up_irregular(parts);
    if (!layout_.valid || count_ < 0) return false;
    direct_ = is_direct_memory_;
    total_bytes_ =
        static_cast<std::size_t>(count_ * layout_.size_bytes) * static_cast<std::size_t>(blocks);
    return buffer_ != nullptr || !layout_.contiguous || total_bytes_ == 0;
  }

  /// Before look_up(), where the call goes on after the program's function has returned.
  void keep(Arrays& arrays, int blocks) {
    if (!irregular_ || is_in_place()) return;
    counts_.keep(arrays, blocks);
    displacements_.keep(arrays, blocks);
  }

  // Properties of the program's arguments.
  MPI_Datatype type() const { return type_; }
  MPI_Count count(int block) const { return irregular_ ? counts_[block] : count_; }
  bool is_in_place() const { return buffer_ == MPI_IN_PLACE; }
  bool is_irregular() const { return irregular_; }
  bool has_buffer_of(const Blocks& other) const { return buffer_ == other.buffer_; }
  /// Whether block `block` and the single block of `other` have equal arguments: the same memory,
  /// count and datatype.
  bool is_same_block(int block, const Blocks& other) const;
  /// Whether both are irregular and have the same buffer, counts and datatype.
  bool has_same_arguments(const Blocks& other) const;

  // The rest may be called after look_up() only.
  std::size_t bytes(int block) const {
    return irregular_ ? (*parts_)[static_cast<std::size_t>(block)].bytes
                      : static_cast<std::size_t>(count_ * layout_.size_bytes);
  }
  std::size_t total_bytes() const { return total_bytes_; }
  /// bytes() of each block.
  std::vector<std::size_t> sizes() const;
  /// The place of each block among the bytes that weft works on. Irregular blocks only.
  std::span<const Part> parts() const { return *parts_; }
  /// The offset of block `block` among these bytes.
  std::size_t offset(int block) const;
  bool is_packed() const { return !direct_; }

  /// Of blocks that are not packed: where their bytes begin behind the buffer's address.
  std::ptrdiff_t direct_offset() const {
    return first_memory() - static_cast<const std::byte*>(buffer_);
  }

  /// The bytes: in the program's buffer, or packed into `packed`.
  const std::byte* input(const Layouts& layouts, Buffer& packed) const {
    return direct_ ? first_memory() : pack_all(layouts, packed);
  }
  /// Where to receive the bytes: the program's buffer or `packed`, which deliver() then unpacks.
  std::byte* output(Buffer& packed) const {
    return direct_ ? first_memory() : packed.reserve(total_bytes_);
  }
  void deliver(const Layouts& layouts, const std::byte* output) const {
    if (!direct_) unpack_all(layouts, output);
  }
  /// Packs one block to its place in `packed`, unless the program's buffer is used.
  void pack(const Layouts& layouts, int block, std::byte* packed) const;

  // Bytes `from` to `to` of a block, of blocks that are too large to be packed whole.
  // `element` is memory of kLargestElement bytes.
  static constexpr MPI_Count kLargestElement = 1 << 20;
  bool can_be_cut() const {
    return is_direct_memory_ || layout_.size_bytes <= kLargestElement ||
           copies_by_map(buffer_, layout_);
  }
  void take_part(const Layouts& layouts, int block, std::size_t from, std::size_t to,
                 std::byte* into, std::byte* element) const;
  /// Where a block lies; `in_a_row` becomes the nest of one in one piece. Nothing where the host
  /// has to pack it.
  std::optional<engine::Elements> elements(int block, engine::Nest& in_a_row) const;
  void put_part(const Layouts& layouts, int block, std::size_t from, std::size_t to,
                const std::byte* piece, std::byte* element) const;

 private:
  template <class Act>
  void for_each_other_than_empty(Act act) const;
  bool look_up_irregular(std::vector<Part>& parts);
  void keep_gaps(std::vector<Part>& parts);
  bool are_consecutive() const;
  /// The address of a block in the program's memory.
  std::byte* memory(int block) const;
  /// The address of the first byte that weft works on: of the first block, or with gaps of the
  /// block with the lowest address.
  std::byte* first_memory() const { return irregular_ ? first_ : static_cast<std::byte*>(buffer_); }
  const std::byte* pack_all(const Layouts& layouts, Buffer& packed) const;
  void unpack_all(const Layouts& layouts, const std::byte* output) const;

  void* buffer_;
  MPI_Datatype type_;
  bool irregular_ = false;
  MPI_Count count_ = 0;
  Integers counts_ = static_cast<const int*>(nullptr);
  Integers displacements_ = static_cast<const int*>(nullptr);

  int blocks_ = 0;
  Layout layout_;
  std::size_t total_bytes_ = 0;
  std::byte* first_ = nullptr;  // of irregular blocks: see first_memory()
  const std::vector<Part>* parts_ = nullptr;
  bool is_direct_memory_ = false;  // plain bytes that this processor reaches
  bool direct_ = false;
  bool gaps_ = false;
};

}  // namespace weft::mpi
