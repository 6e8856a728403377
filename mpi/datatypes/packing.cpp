// Packing of elements of derived datatypes into plain bytes, and unpacking: by their maps, else by
// the host MPI.
#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <mutex>

#include "base/cast.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/datatypes/layouts.hpp"
#include "mpi/host/errors.hpp"

namespace weft::mpi {

namespace {

// A datatype of `count` bytes, which may exceed INT_MAX.
class Bytes {
 public:
  explicit Bytes(MPI_Count count) {
    constexpr int kPiece = 1 << 30;
    const std::array lengths = {static_cast<int>(count / kPiece), static_cast<int>(count % kPiece)};
    const std::array at = {MPI_Aint{0}, static_cast<MPI_Aint>(count - count % kPiece)};
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    require_success(PMPI_Type_contiguous(kPiece, MPI_BYTE, &piece));
    const std::array types = {piece, MPI_Datatype{MPI_BYTE}};
    const int error = PMPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), &type_);
    PMPI_Type_free(&piece);
    require_success(error);
    PMPI_Type_commit(&type_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { PMPI_Type_free(&type_); }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Bytes in a row, on another processor: its driver's affair. What it refuses, and elements that
/// are no plain bytes, are the host's: a program that gives such buffers to its MPI has one that
/// takes them.
bool copies_device_memory(void* to, const void* from, MPI_Count bytes) {
  return (device_memory::contains(to) || device_memory::contains(from)) &&
         device_memory::copy(to, from, static_cast<std::size_t>(bytes));
}

std::uint64_t unsigned_of(MPI_Count bytes) {
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

bool copies_by_map(const void* buffer, const Layout& layout) noexcept {
  if (layout.map == nullptr || layout.map->nests().empty()) return false;
  const auto first = reinterpret_cast<std::uintptr_t>(buffer) +
                     static_cast<std::uintptr_t>(layout.map->nests().front().at);
  return !device_memory::contains(reinterpret_cast<const void*>(first));
}

void Layouts::exchange_with_self(const void* from, MPI_Count from_count, MPI_Datatype from_type,
                                 void* to, MPI_Count to_count, MPI_Datatype to_type) const {
  // The lock keeps a thread from receiving another thread's message.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  require_success(PMPI_Sendrecv(from, static_cast<int>(from_count), from_type, 0, 0, to,
                                static_cast<int>(to_count), to_type, 0, 0, self_,
                                MPI_STATUS_IGNORE));
}

// MPI counts packed bytes in an int, so elements are packed in batches that fit. Two cases are sent
// to this rank itself instead, from the datatype into bytes: an element larger than INT_MAX, and
// addresses relative to MPI_BOTTOM, which MPICH refuses to pack.
void Layouts::pack(const void* buffer, MPI_Count count, const Layout& layout,
                   std::byte* packed) const {
  if (count * layout.size_bytes == 0) return;
  if (layout.contiguous && copies_device_memory(packed, buffer, count * layout.size_bytes)) return;
  if (copies_by_map(buffer, layout)) {
    const auto elements = layout.map->elements(buffer, unsigned_of(count), layout.extent_bytes);
    return engine::pack(elements, 0, elements.bytes(), packed);
  }
  const MPI_Count fit = INT_MAX / layout.size_bytes, at_once = std::max<MPI_Count>(fit, 1);
  for (MPI_Count at = 0; at < count; at += at_once) {
    const auto* from = static_cast<const std::byte*>(buffer) + at * layout.extent_bytes;
    std::byte* to = packed + at * layout.size_bytes;
    const MPI_Count now = std::min(count - at, at_once), bytes = now * layout.size_bytes;
    if (fit == 0 || buffer == MPI_BOTTOM) {
      const Bytes type(bytes);
      exchange_with_self(from, now, layout.type, to, 1, type.get());
      continue;
    }
    int position = 0;
    require_success(PMPI_Pack(from, static_cast<int>(now), layout.type, to, static_cast<int>(bytes),
                              &position, self_));
  }
}

void Layouts::unpack(const std::byte* packed, void* buffer, MPI_Count count,
                     const Layout& layout) const {
  if (count * layout.size_bytes == 0) return;
  if (layout.contiguous && copies_device_memory(buffer, packed, count * layout.size_bytes)) return;
  if (copies_by_map(buffer, layout)) {
    const auto elements = layout.map->elements(buffer, unsigned_of(count), layout.extent_bytes);
    return engine::unpack(elements, 0, elements.bytes(), packed);
  }
  const MPI_Count fit = INT_MAX / layout.size_bytes, at_once = std::max<MPI_Count>(fit, 1);
  for (MPI_Count at = 0; at < count; at += at_once) {
    const std::byte* from = packed + at * layout.size_bytes;
    auto* to = static_cast<std::byte*>(buffer) + at * layout.extent_bytes;
    const MPI_Count now = std::min(count - at, at_once), bytes = now * layout.size_bytes;
    if (fit == 0 || buffer == MPI_BOTTOM) {
      const Bytes type(bytes);
      exchange_with_self(from, 1, type.get(), to, now, layout.type);
      continue;
    }
    int position = 0;
    require_success(PMPI_Unpack(from, static_cast<int>(bytes), &position, to, static_cast<int>(now),
                                layout.type, self_));
  }
}

namespace {

/// As many as have the packed bytes up to `to`.
engine::Elements elements_to(const void* buffer, const Layout& layout, MPI_Count to) {
  const std::uint64_t count = ceil_div(unsigned_of(to), unsigned_of(layout.size_bytes));
  return layout.map->elements(buffer, count, layout.extent_bytes);
}

/// Calls whole(element, elements, packed offset) and part(element, offset in it, bytes, packed
/// offset) for the pieces of bytes `from` to `to`.
template <class Whole, class Part>
void for_each_piece(MPI_Count size, MPI_Count from, MPI_Count to, Whole whole, Part part) {
  for (MPI_Count at = from; at < to;) {
    const MPI_Count element = at / size, within = at % size;
    if (within == 0 && to - at >= size) {
      const MPI_Count elements = (to - at) / size;
      whole(element, elements, at - from);
      at += elements * size;
    } else {
      const MPI_Count bytes = std::min(size - within, to - at);
      part(element, within, bytes, at - from);
      at += bytes;
    }
  }
}

}  // namespace

void Layouts::pack_part(const void* buffer, const Layout& layout, MPI_Count from, MPI_Count to,
                        std::byte* packed, std::byte* element) const {
  if (copies_by_map(buffer, layout)) {
    const auto elements = elements_to(buffer, layout, to);
    return engine::pack(elements, unsigned_of(from), unsigned_of(to), packed);
  }
  const auto at = [&](MPI_Count index) {
    return static_cast<const std::byte*>(buffer) + index * layout.extent_bytes;
  };
  for_each_piece(
      layout.size_bytes, from, to,
      [&](MPI_Count first, MPI_Count elements, MPI_Count offset) {
        pack(at(first), elements, layout, packed + offset);
      },
      [&](MPI_Count index, MPI_Count within, MPI_Count bytes, MPI_Count offset) {
        pack(at(index), 1, layout, element);
        std::memcpy(packed + offset, element + within, static_cast<std::size_t>(bytes));
      });
}

void Layouts::unpack_part(const std::byte* packed, void* buffer, const Layout& layout,
                          MPI_Count from, MPI_Count to, std::byte* element) const {
  if (copies_by_map(buffer, layout)) {
    const auto elements = elements_to(buffer, layout, to);
    return engine::unpack(elements, unsigned_of(from), unsigned_of(to), packed);
  }
  const auto at = [&](MPI_Count index) {
    return static_cast<std::byte*>(buffer) + index * layout.extent_bytes;
  };
  for_each_piece(
      layout.size_bytes, from, to,
      [&](MPI_Count first, MPI_Count elements, MPI_Count offset) {
        unpack(packed + offset, at(first), elements, layout);
      },
      [&](MPI_Count index, MPI_Count within, MPI_Count bytes, MPI_Count offset) {
        // What this part does not have is written back as it was.
        pack(at(index), 1, layout, element);
        std::memcpy(element + within, packed + offset, static_cast<std::size_t>(bytes));
        unpack(element, at(index), 1, layout);
      });
}

}  // namespace weft::mpi
