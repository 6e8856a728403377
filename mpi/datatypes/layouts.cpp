#include "mpi/datatypes/layouts.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace weft::mpi {

namespace {

// Values of the attribute: one of these, or the type's map.
constexpr std::intptr_t kContiguous = 1;
constexpr std::intptr_t kScattered = 2;

/// Whether the layout of a new datatype is kept. BLACS and other libraries make a datatype for one
/// call and free it after that; to keep its layout, and to forget it, takes as long as to find it.
/// So after datatypes have been freed only one in so many new ones is kept; one that stays is kept
/// after some calls.
class Keeping {
 public:
  /// `map`: its own, if it has one.
  bool is_due(const TypeMap* map) noexcept {
    if (map != nullptr && map->nests().size() > kMostNests) return true;
    const unsigned every = every_.load(std::memory_order_relaxed);
    return every == 1 || asked_.fetch_add(1, std::memory_order_relaxed) % every == 0;
  }
  /// One that was kept.
  void note_freed() noexcept {
    const unsigned every = every_.load(std::memory_order_relaxed);
    if (every < kMostEvery) every_.store(2 * every, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kMostEvery = 16;
  static constexpr std::size_t kMostNests = 4;  // more take longer to find
  std::atomic<unsigned> every_ = 1, asked_ = 0;
};
constinit Keeping keeping;

/// Whether MPI itself has it, so that it is never freed.
bool is_named(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_DUP;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

bool is_contiguous(const TypeMap& map, MPI_Datatype type) {
  MPI_Count low = 0, extent = 0;
  PMPI_Type_get_extent_x(type, &low, &extent);
  if (low != 0 || extent != static_cast<MPI_Count>(map.bytes())) return false;
  if (map.nests().empty()) return true;
  const engine::Nest& only = map.nests().front();
  return map.nests().size() == 1 && only.at == 0 && only.loops.empty();
}

/// The value of a datatype's attribute.
void* find_map(MPI_Datatype type) {
  auto map = TypeMap::of(type);
  if (map && is_contiguous(*map, type)) return reinterpret_cast<void*>(kContiguous);
  const TypeMap* const kept = map ? keep(std::move(*map)) : nullptr;
  return kept != nullptr ? const_cast<TypeMap*>(kept) : reinterpret_cast<void*>(kScattered);
}

/// Null: it has none.
const TypeMap* map_of(void* value) {
  const auto number = reinterpret_cast<std::intptr_t>(value);
  const bool has_map = number != kContiguous && number != kScattered;
  return has_map ? static_cast<const TypeMap*>(value) : nullptr;
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
  keeping.note_freed();
  return MPI_SUCCESS;
}

bool Layouts::committed(MPI_Datatype type) const {
  char nothing = 0;
  int position = 0;
  return PMPI_Pack(&nothing, 0, type, &nothing, 1, &position, self_) == MPI_SUCCESS;
}

Layout Layouts::ask_host(MPI_Datatype type, Keeps keeps) const {
  const std::uint64_t asked_at = Known::generation_now();
  Layout layout;
  layout.type = type;
  if (type == MPI_DATATYPE_NULL) return layout;
  void* value = nullptr;
  int is_kept = 0;
  if (PMPI_Type_get_attr(type, keyval_, &value, &is_kept) != MPI_SUCCESS) return layout;
  if (is_kept == 0 && !committed(type)) return layout;
  const bool has_envelope = facts_ == nullptr || facts_->has_envelope(type);
  if (is_kept == 0) value = has_envelope ? find_map(type) : reinterpret_cast<void*>(kScattered);
  MPI_Aint low = 0;
  PMPI_Type_size_x(type, &layout.size_bytes);
  PMPI_Type_get_extent(type, &low, &layout.extent_bytes);
  layout.contiguous = reinterpret_cast<std::intptr_t>(value) == kContiguous;
  layout.map = map_of(value);
  layout.valid = true;
  const bool lasts = layout.map == nullptr && has_envelope && is_named(type);
  if (is_kept == 0) {
    if (keeps == Keeps::some && !lasts && !keeping.is_due(layout.map)) return layout;
    PMPI_Type_set_attr(type, keyval_, value);
  }
  lasts ? Known::keep_lasting(type, layout) : Known::keep(type, layout, asked_at);
  return layout;
}

}  // namespace weft::mpi
