// Buffer arguments of MPI_Alltoallw: a block for each rank, each with a datatype of its own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/calls/blocks.hpp"
#include "mpi/calls/placed_blocks.hpp"

namespace weft::mpi {

/// Block i has counts[i] elements of types[i] and begins displacements[i] bytes behind `buffer`.
/// Where the elements of all blocks are contiguous, weft works on the program's buffer, else on a
/// buffer in which all blocks are packed in rank order.
class TypedBlocks {
 public:
  TypedBlocks(const void* buffer, Integers counts, Integers displacements,
              const MPI_Datatype* types)
      : buffer_(static_cast<std::byte*>(const_cast<void*>(buffer))),
        counts_(counts),
        displacements_(displacements),
        types_(types) {}

  /// As Blocks::keep().
  void keep(Arrays& arrays, int blocks);
  /// Of `blocks` blocks.
  void add_types(Handles& handles, int blocks) const;

  bool is_in_place() const { return buffer_ == MPI_IN_PLACE; }
  MPI_Datatype type(int block) const { return types_[block]; }
  MPI_Count count(int block) const { return counts_[block]; }
  /// Whether both have the same buffer, counts and datatypes.
  bool has_same_arguments(const TypedBlocks& other) const {
    return buffer_ == other.buffer_ && types_ == other.types_ &&
           counts_.is_same_array(other.counts_);
  }

  /// Looks up the datatypes, and writes to `parts` the place of each block among the bytes that
  /// weft works on. False: the host refuses these arguments.
  bool look_up(const Layouts& layouts, int blocks, std::vector<Part>& parts);

  std::size_t total_bytes() const { return total_bytes_; }
  bool is_packed() const { return !direct_; }

  /// Without look_up(): where the first block lies, `in_a_row` where it is in one piece. Nothing
  /// where it is empty, not this processor's memory, without a map, or the host's to judge.
  std::optional<engine::Elements> first_elements(const Layouts& layouts,
                                                 engine::Nest& in_a_row) const;

  // Blocks as they lie. What neither is contiguous nor has a map is packed whole before and
  // unpacked after, in `packed`.

  void pack_whole(const Layouts& layouts, Buffer& packed);
  void reserve_whole(const Layouts& layouts, Buffer& packed);
  void unpack_whole(const Layouts& layouts) const;
  /// After that: where each block lies, packed whole or as the program has it.
  void place(const Layouts& layouts);
  const PlacedBlocks& placed() const { return placed_; }
  /// What place() has found, for later calls; the call is over. Nullopt: some block is packed
  /// whole.
  std::optional<PlacedBlocks> take_placed();

  /// The bytes that weft works on: the program's buffer, or `packed`.
  std::byte* output(Buffer& packed) const;
  /// Packs all blocks into `packed`, unless the program's buffer is used.
  void pack(const Layouts& layouts, std::byte* packed) const;
  /// Unpacks received blocks from `output`, unless the program's buffer is used.
  void deliver(const Layouts& layouts, const std::byte* output) const;

 private:
  std::byte* memory(int block) const { return buffer_ + displacements_[block]; }

  std::byte* buffer_;
  Integers counts_;
  Integers displacements_;
  const MPI_Datatype* types_;

  int blocks_ = 0;
  bool direct_ = true;
  std::byte* lowest_ = nullptr;
  std::size_t total_bytes_ = 0;
  const std::vector<Part>* parts_ = nullptr;
  std::vector<std::byte*> whole_;  // by block; null where it goes in parts. Empty: all do
  PlacedBlocks placed_;
};

}  // namespace weft::mpi
