#include "mpi/host/datatype.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <mutex>
#include <vector>

#include "mpi/host/errors.hpp"

namespace weft::mpi {

namespace {

constexpr std::intptr_t kContiguous = 1;
constexpr std::intptr_t kScattered = 2;

bool fills_its_extent(MPI_Datatype type) {
  MPI_Count size = 0, low = 0, extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &low, &extent);
  return low == 0 && size == extent;
}

bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

void free_unless_predefined(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (!is_predefined(combiner)) PMPI_Type_free(&type);
}

// Size and extent alone do not tell: the blocks of an indexed type may lie in another order. So
// only predefined types without gaps, and rows or copies of them.
bool is_contiguous(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (is_predefined(combiner)) return fills_its_extent(type);
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  std::vector<int> integer(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> address(static_cast<std::size_t>(addresses) + 1);
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (types != 1 || PMPI_Type_get_contents(type, integers, addresses, types, integer.data(),
                                           address.data(), &inner) != MPI_SUCCESS) {
    return false;
  }
  const bool result = is_contiguous(inner);
  free_unless_predefined(inner);
  return result;
}

// A datatype of any number of bytes, also of more than an int counts.
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

}  // namespace

Layouts::Layouts(MPI_Comm self) : self_(self) {
  PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &on_delete, &keyval_, nullptr);
}

Layouts::~Layouts() {
  PMPI_Type_free_keyval(&keyval_);
}

int Layouts::on_delete(MPI_Datatype, int, void*, void*) {
  Known::forget_all();
  return MPI_SUCCESS;
}

bool Layouts::committed(MPI_Datatype type) const {
  char nothing = 0;
  int position = 0;
  return PMPI_Pack(&nothing, 0, type, &nothing, 1, &position, self_) == MPI_SUCCESS;
}

Layout Layouts::ask_host(MPI_Datatype type) const {
  const std::uint64_t asked_at = Known::generation_now();
  Layout layout;
  layout.type = type;
  if (type == MPI_DATATYPE_NULL) return layout;
  void* known = nullptr;
  int found = 0;
  if (PMPI_Type_get_attr(type, keyval_, &known, &found) != MPI_SUCCESS) return layout;
  if (found == 0) {
    if (!committed(type)) return layout;
    known = reinterpret_cast<void*>(is_contiguous(type) ? kContiguous : kScattered);
    PMPI_Type_set_attr(type, keyval_, known);
  }
  MPI_Aint low = 0;
  PMPI_Type_size_x(type, &layout.size_bytes);
  PMPI_Type_get_extent(type, &low, &layout.extent_bytes);
  layout.contiguous = reinterpret_cast<std::intptr_t>(known) == kContiguous;
  layout.valid = true;
  Known::keep(type, layout, asked_at);
  return layout;
}

void Layouts::exchange_with_self(const void* from, MPI_Count from_count, MPI_Datatype from_type,
                                 void* to, MPI_Count to_count, MPI_Datatype to_type) const {
  // Threads would take one another's message.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  require_success(PMPI_Sendrecv(from, static_cast<int>(from_count), from_type, 0, 0, to,
                                static_cast<int>(to_count), to_type, 0, 0, self_,
                                MPI_STATUS_IGNORE));
}

// MPI counts the bytes that it packs in an int: as many elements at a time as fit. An element that
// does not fit, and what MPICH refuses to pack because it counts from MPI_BOTTOM, is sent from its
// own layout into bytes.
void Layouts::pack(const void* buffer, MPI_Count count, const Layout& layout,
                   std::byte* packed) const {
  if (count * layout.size_bytes == 0) return;
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

}  // namespace weft::mpi
