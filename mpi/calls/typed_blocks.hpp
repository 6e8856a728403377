// Buffers as MPI_Alltoallw names them: a block of a datatype of its own for each rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/calls/blocks.hpp"

namespace weft::mpi {

/// Block i has counts[i] elements of types[i] and begins displacements[i] bytes behind `buffer`.
/// Weft takes bytes where they lie, or, where some elements are not plain bytes, all of them packed
/// one after another in rank order.
class TypedBlocks {
 public:
  TypedBlocks(const void* buffer, Integers counts, Integers displacements,
              const MPI_Datatype* types)
      : buffer_(static_cast<std::byte*>(const_cast<void*>(buffer))),
        counts_(counts),
        displacements_(displacements),
        types_(types) {}

  bool is_in_place() const { return buffer_ == MPI_IN_PLACE; }
  /// Whether both are told by the same arguments.
  bool is_told_like(const TypedBlocks& other) const {
    return buffer_ == other.buffer_ && types_ == other.types_ &&
           counts_.is_same_array(other.counts_);
  }

  /// Looks the datatypes up and says in `parts` where each block lies among the bytes that weft
  /// takes. False: the host refuses these arguments.
  bool look_up(const Layouts& layouts, int blocks, std::vector<Part>& parts);

  /// Where the bytes are, or are to be packed or put.
  std::byte* output(Buffer& packed) const;
  /// Packs all blocks there, unless that is where they lie.
  void pack(const Layouts& layouts, std::byte* packed) const;
  /// The way back.
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
};

}  // namespace weft::mpi
