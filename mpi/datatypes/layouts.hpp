// Datatypes: which ones are plain bytes in memory, and packing for those that are not.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "mpi/host/handle_cache.hpp"

namespace weft::mpi {

/// What a call needs to know of a datatype.
struct Layout {
  MPI_Datatype type = MPI_DATATYPE_NULL;
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

  Layout of(MPI_Datatype type) const {
    Layout layout;
    find(type, layout);
    return layout;
  }
  /// The same where it is needed: the answer is larger than what a small call has time for twice.
  void find(MPI_Datatype type, Layout& layout) const {
    const Layout* known = Known::find(type);
    layout = known != nullptr ? *known : ask_host(type);
  }

  /// Packs `count` elements at `buffer` into count * size_bytes bytes. HostError when the host
  /// refuses.
  void pack(const void* buffer, MPI_Count count, const Layout& layout, std::byte* packed) const;
  /// The way back.
  void unpack(const std::byte* packed, void* buffer, MPI_Count count, const Layout& layout) const;

 private:
  using Known = HandleCache<MPI_Datatype, Layout>;

  static int on_delete(MPI_Datatype type, int keyval, void* value, void* extra);
  Layout ask_host(MPI_Datatype type) const;
  bool committed(MPI_Datatype type) const;
  void exchange_with_self(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                          MPI_Count to_count, MPI_Datatype to_type) const;

  MPI_Comm self_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace weft::mpi
