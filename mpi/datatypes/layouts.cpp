#include "mpi/datatypes/layouts.hpp"

#include <cstdint>
#include <utility>

namespace weft::mpi {

namespace {

// Values of the attribute: one of these, or the type's map.
constexpr std::intptr_t kContiguous = 1;
constexpr std::intptr_t kScattered = 2;

bool is_contiguous(const TypeMap& map, MPI_Datatype type) {
  MPI_Count low = 0, extent = 0;
  PMPI_Type_get_extent_x(type, &low, &extent);
  if (low != 0 || extent != static_cast<MPI_Count>(map.bytes())) return false;
  if (map.nests().empty()) return true;
  const engine::Nest& only = map.nests().front();
  return map.nests().size() == 1 && only.at == 0 && only.loops.empty();
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
    known = reinterpret_cast<void*>(kScattered);
    const bool known_inside = facts_ == nullptr || facts_->has_envelope(type);
    if (auto map = known_inside ? TypeMap::of(type) : std::nullopt) {
      if (is_contiguous(*map, type)) {
        known = reinterpret_cast<void*>(kContiguous);
      } else if (const TypeMap* kept = keep(std::move(*map))) {
        known = const_cast<TypeMap*>(kept);
      }
    }
    PMPI_Type_set_attr(type, keyval_, known);
  }
  MPI_Aint low = 0;
  PMPI_Type_size_x(type, &layout.size_bytes);
  PMPI_Type_get_extent(type, &low, &layout.extent_bytes);
  const auto value = reinterpret_cast<std::intptr_t>(known);
  layout.contiguous = value == kContiguous;
  const bool has_map = value != kContiguous && value != kScattered;
  if (has_map) layout.map = static_cast<const TypeMap*>(known);
  layout.valid = true;
  Known::keep(type, layout, asked_at);
  return layout;
}

}  // namespace weft::mpi
