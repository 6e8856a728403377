#include "mpi/calls/arguments.hpp"

#include <algorithm>
#include <cstring>

namespace weft::mpi {

const void* Arrays::keep(const void* array, std::size_t bytes) {
  if (array == nullptr || bytes == 0) return array;
  if (const void* known = find(array)) return known;
  auto copy = std::make_unique<std::byte[]>(bytes);
  std::memcpy(copy.get(), array, bytes);
  kept_.push_back({array, std::move(copy)});
  return kept_.back().copy.get();
}

const void* Arrays::find(const void* array) const noexcept {
  const auto found = std::ranges::find(kept_, array, &Kept::array);
  return found == kept_.end() ? nullptr : found->copy.get();
}

void Handles::add(MPI_Datatype type) {
  if (!contains(type)) types.push_back(type);
}

bool Handles::contains(MPI_Datatype type) const noexcept {
  return std::ranges::find(types, type) != types.end();
}

}  // namespace weft::mpi
