#include "mpi/calls/arguments.hpp"

#include <algorithm>
#include <cstring>

#include "mpi/host/host.hpp"

namespace weft::mpi {

const void* Arrays::keep(const void* array, std::size_t bytes, std::size_t zeros) {
  if (array == nullptr || bytes == 0) return array;
  if (const void* known = find(array)) return known;
  auto copy = std::make_unique<std::byte[]>(bytes + zeros);
  std::memcpy(copy.get(), array, bytes);
  kept_.push_back({array, std::move(copy)});
  return kept_.back().copy.get();
}

const MPI_Datatype* Arrays::keep(const MPI_Datatype* types, int blocks) {
  constexpr std::size_t kEach = sizeof(MPI_Datatype);
  return static_cast<const MPI_Datatype*>(
      keep(types, kEach * static_cast<std::size_t>(blocks), kEach * kTypesReadBeyond));
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
