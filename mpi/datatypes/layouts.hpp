// Layouts of MPI datatypes: whether elements are plain bytes in memory, and packing of elements
// that are not.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/datatypes/type_map.hpp"
#include "mpi/host/handle_cache.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

/// The facts of a datatype that calls need.
struct Layout {
  MPI_Datatype type{};
  /// The datatype exists and is committed. Otherwise the other members mean nothing, and the call
  /// is left to the host MPI, which reports the error.
  bool valid = false;
  /// Consecutive elements are their bytes in order, without gaps, from the buffer's start.
  bool contiguous = false;
  /// Where its bytes are; null where it is contiguous, or the host has to pack it. Lives on.
  const TypeMap* map = nullptr;
  MPI_Count size_bytes = 0;
  MPI_Aint extent_bytes = 0;
};

/// Whether elements at `buffer` are packed by their map: there is one, and this processor reaches
/// them.
bool copies_by_map(const void* buffer, const Layout& layout) noexcept;

/// Finds layouts, and caches them as attributes of the datatypes: MPI deletes an attribute when the
/// datatype is freed, before its handle can be used again. Safe from many threads.
class Layouts {
 public:
  /// `self`: a communicator of this process alone that returns its errors. `facts`: where this is a
  /// component of the host.
  explicit Layouts(MPI_Comm self, const HostFacts* facts = nullptr);
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;
  ~Layouts();

  Layout of(MPI_Datatype type) const {
    Layout layout;
    find(type, layout);
    return layout;
  }
  /// The same, written to `layout`: for a small call a second copy of the answer takes too long.
  void find(MPI_Datatype type, Layout& layout) const {
    const Layout* known = Known::find(type);
    layout = known != nullptr ? *known : ask_host(type, Keeps::all);
  }
  /// The same in a call that asks for it once: it need not be cached where datatypes do not live
  /// long.
  void find_once(MPI_Datatype type, Layout& layout) const {
    const Layout* known = Known::find(type);
    layout = known != nullptr ? *known : ask_host(type, Keeps::some);
  }

  // Elements that have a map are packed by it, others by the host.

  /// Packs `count` elements at `buffer` into count * size_bytes bytes. HostError when the host
  /// refuses.
  void pack(const void* buffer, MPI_Count count, const Layout& layout, std::byte* packed) const;
  /// Unpacks what pack() has packed. HostError when the host refuses.
  void unpack(const std::byte* packed, void* buffer, MPI_Count count, const Layout& layout) const;

  /// Packs bytes `from` to `to` of what pack() would write, or unpacks them. The host packs
  /// elements that lie across an end whole into `element`, of at least layout.size_bytes.
  void pack_part(const void* buffer, const Layout& layout, MPI_Count from, MPI_Count to,
                 std::byte* packed, std::byte* element) const;
  void unpack_part(const std::byte* packed, void* buffer, const Layout& layout, MPI_Count from,
                   MPI_Count to, std::byte* element) const;

 private:
  using Known = HandleCache<MPI_Datatype, Layout>;

  static int on_delete(MPI_Datatype type, int keyval, void* value, void* extra);
  enum class Keeps : std::uint8_t { some, all };
  Layout ask_host(MPI_Datatype type, Keeps keeps) const;
  bool committed(MPI_Datatype type) const;
  void exchange_with_self(const void* from, MPI_Count from_count, MPI_Datatype from_type, void* to,
                          MPI_Count to_count, MPI_Datatype to_type) const;

  MPI_Comm self_;
  const HostFacts* facts_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace weft::mpi
