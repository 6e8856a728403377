#include "mpi/datatypes/layouts.hpp"

#include <cstdint>
#include <vector>

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

// Size and extent do not suffice: the blocks of an indexed type may lie in another order. So only
// predefined types without gaps, and MPI_Type_contiguous and MPI_Type_dup of such types, count.
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

}  // namespace

Layouts::Layouts(MPI_Comm self, const HostFacts* facts) : self_(self), facts_(facts) {
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
    const bool known_inside = facts_ == nullptr || facts_->has_envelope(type);
    known = reinterpret_cast<void*>(known_inside && is_contiguous(type) ? kContiguous : kScattered);
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

}  // namespace weft::mpi
