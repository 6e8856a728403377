// Buffers as calls name them: blocks of elements of a datatype, one for each rank or just one.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "mpi/datatypes/layouts.hpp"
#include "mpi/world/communicators.hpp"
#include "weft/weft.hpp"

namespace weft::mpi {

/// An array of counts or displacements, as wide as the program's binding has them.
class Integers {
 public:
  template <class Integer>
  Integers(const Integer* values)  // NOLINT(google-explicit-constructor)
      : values_(values), is_wide_(sizeof(Integer) == sizeof(std::int64_t)) {
    static_assert(std::is_signed_v<Integer>);
    static_assert(sizeof(Integer) == sizeof(std::int64_t) || sizeof(Integer) == sizeof(int));
  }

  bool is_null() const { return values_ == nullptr; }
  bool is_same_array(const Integers& other) const { return values_ == other.values_; }
  MPI_Count operator[](int i) const {
    if (!is_wide_) return static_cast<const int*>(values_)[i];
    // Two types of the binding are as wide as this.
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

/// Blocks of elements in the program's memory. Weft takes their bytes one after another, in rank
/// order and without gaps: that is how they lie, or they are packed. As displacements are a rank's
/// own affair, gaps are left only to calls in which no other rank hears of parts: `gaps`.
class Blocks {
 public:
  /// So many blocks of `count` elements in a row as look_up() says.
  Blocks(const void* buffer, MPI_Count count, MPI_Datatype type)
      : buffer_(const_cast<void*>(buffer)), type_(type), count_(count) {}
  /// Block i has counts[i] elements and begins displacements[i] elements behind `buffer`.
  Blocks(const void* buffer, Integers counts, Integers displacements, MPI_Datatype type)
      : buffer_(const_cast<void*>(buffer)),
        type_(type),
        irregular_(true),
        counts_(counts),
        displacements_(displacements) {}

  /// Looks the datatype up and reads the counts. False: the host refuses these arguments. `parts`
  /// is memory for what is irregular, and lives as long as this.
  bool look_up(const Layouts& layouts, int blocks, std::vector<Part>& parts, bool gaps = false) {
    gaps_ = gaps;
    blocks_ = blocks;
    layouts.find(type_, layout_);
    if (irregular_) return look_up_irregular(parts);
    if (!layout_.valid || count_ < 0) return false;
    direct_ = layout_.contiguous;
    total_bytes_ =
        static_cast<std::size_t>(count_ * layout_.size_bytes) * static_cast<std::size_t>(blocks);
    return buffer_ != nullptr || !direct_ || total_bytes_ == 0;
  }

  // What stands in the program's arguments.
  bool is_in_place() const { return buffer_ == MPI_IN_PLACE; }
  bool is_irregular() const { return irregular_; }
  /// Whether block `block` of these and `other`, a block alone, are the same elements, told in the
  /// same way.
  bool names_like(int block, const Blocks& other) const;
  /// Whether both are irregular and told by the same arguments.
  bool is_told_like(const Blocks& other) const;

  // From here on after look_up().
  std::size_t bytes(int block) const {
    return irregular_ ? (*parts_)[static_cast<std::size_t>(block)].bytes
                      : static_cast<std::size_t>(count_ * layout_.size_bytes);
  }
  std::size_t total_bytes() const { return total_bytes_; }
  /// Where each block lies among the bytes that weft takes. Irregular blocks only.
  std::span<const Part> parts() const { return *parts_; }
  /// Where block `block` begins among them.
  std::size_t offset(int block) const;
  bool is_packed() const { return !direct_; }

  /// The bytes: where they lie, or packed into `packed`.
  const std::byte* input(const Layouts& layouts, Buffer& packed) const {
    return direct_ ? first_memory() : pack_all(layouts, packed);
  }
  /// Where to put the bytes; deliver() brings them home.
  std::byte* output(Buffer& packed) const {
    return direct_ ? first_memory() : packed.reserve(total_bytes_);
  }
  void deliver(const Layouts& layouts, const std::byte* output) const {
    if (!direct_) unpack_all(layouts, output);
  }
  /// Packs one block to its place in `packed`, unless `packed` is where it lies.
  void pack(const Layouts& layouts, int block, std::byte* packed) const;

 private:
  bool look_up_irregular(std::vector<Part>& parts);
  void keep_gaps(std::vector<Part>& parts);
  bool lie_in_a_row() const;
  MPI_Count count(int block) const { return irregular_ ? counts_[block] : count_; }
  /// Where a block begins in the program's memory.
  std::byte* memory(int block) const;
  /// Where the bytes that weft takes begin: of what lies in a row with the first block, of what has
  /// gaps with the lowest.
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
  std::byte* first_ = nullptr;  // of irregular blocks, where some bytes are: see first_memory()
  const std::vector<Part>* parts_ = nullptr;
  bool direct_ = false;
  bool gaps_ = false;
};

}  // namespace weft::mpi
