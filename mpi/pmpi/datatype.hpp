// Datatypes: which ones are plain bytes in memory, and packing for those that are not.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace weft::pmpi {

/// What an alltoall needs to know of a datatype.
struct Layout {
  /// A committed datatype that exists. Otherwise the rest says nothing, and the host is to judge.
  bool valid = false;
  /// Elements in a row are exactly their bytes, in order and without gaps, from the buffer's start.
  bool contiguous = false;
  MPI_Count size_bytes = 0;
  MPI_Aint extent_bytes = 0;
};

/// Finds layouts and remembers the answer on the datatype itself, where it goes when the datatype
/// is freed and its handle is used again. Safe from many threads.
class Layouts {
 public:
  /// `self`: a communicator of this process alone that returns its errors.
  explicit Layouts(MPI_Comm self);
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;
  ~Layouts();

  Layout of(MPI_Datatype type) const;

  /// Packs `blocks` blocks of `count` elements at `buffer` into blocks of count * size_bytes at
  /// `packed`. A block is at least 1 and at most INT_MAX bytes. Returns an MPI error code.
  int pack(const void* buffer, MPI_Count count, MPI_Datatype type, int blocks, void* packed) const;
  /// The way back.
  int unpack(const void* packed, void* buffer, MPI_Count count, MPI_Datatype type,
             int blocks) const;

 private:
  bool committed(MPI_Datatype type) const;

  MPI_Comm self_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace weft::pmpi
