#include "mpi/calls/arguments.hpp"

#include <algorithm>
#include <cstring>

#include "base/cast.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

const void* Arrays::keep(const void* array, std::size_t bytes, std::size_t zeros) {
  if (array == nullptr || bytes == 0) return array;
  if (const void* known = find(array)) return known;
  const std::size_t all = round_up(bytes + zeros, alignof(std::max_align_t));
  std::byte* copy = nullptr;
  if (all <= few_.size() - few_bytes_) {
    copy = few_.data() + few_bytes_;
    few_bytes_ += all;
  } else {
    many_[count_] = std::make_unique_for_overwrite<std::byte[]>(all);
    copy = many_[count_].get();
  }
  std::memcpy(copy, array, bytes);
  std::memset(copy + bytes, 0, all - bytes);
  kept_[count_++] = {array, copy};
  return copy;
}

const MPI_Datatype* Arrays::keep(const MPI_Datatype* types, int blocks) {
  constexpr std::size_t kEach = sizeof(MPI_Datatype);
  return static_cast<const MPI_Datatype*>(
      keep(types, kEach * static_cast<std::size_t>(blocks), kEach * kTypesReadBeyond));
}

const void* Arrays::find(const void* array) const noexcept {
  const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto found = std::ranges::find(kept_.begin(), end, array, &Kept::array);
  return found == end ? nullptr : found->copy;
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
