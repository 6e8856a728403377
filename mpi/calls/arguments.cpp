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

void DatatypeSet::add(MPI_Datatype type) {
  if (contains(type)) return;
  if (many_.empty() && count_ < few_.size()) {
    few_[count_++] = type;
    return;
  }
  if (many_.empty()) many_.assign(few_.begin(), few_.end());
  many_.push_back(type);
  ++count_;
}

bool DatatypeSet::contains(MPI_Datatype type) const noexcept {
  return std::find(begin(), end(), type) != end();
}

}  // namespace weft::mpi
