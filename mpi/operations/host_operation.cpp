#include "mpi/operations/host_operation.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "mpi/host/errors.hpp"

namespace weft::mpi {

namespace {

// Large enough to make the overhead of a call small, small enough for both operands to stay in the
// L1 cache.
constexpr MPI_Count kBatchBytes = 8 << 10;

}  // namespace

void HostOperation::Elements::make(const Layout& layout, MPI_Count count) {
  constexpr std::uintptr_t kAlignment = 64;
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_true_extent(layout.type, &low, &extent);
  // An extent may be negative: then the last element has the lowest address.
  const MPI_Aint last = (count - 1) * layout.extent_bytes;
  const MPI_Aint before = low + std::min<MPI_Aint>(last, 0);
  const MPI_Aint bytes = extent + std::max(last, -last);
  memory_.reset(new std::byte[static_cast<std::size_t>(bytes) + 2 * kAlignment]);
  // Aligned as the datatype's elements would be in a buffer with an aligned start.
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get()) + kAlignment;
  const auto shift = static_cast<std::uintptr_t>(before);
  const std::uintptr_t start = (begin - shift + kAlignment - 1) / kAlignment * kAlignment;
  start_ = reinterpret_cast<std::byte*>(start);
}

HostOperation::HostOperation(const Layouts& layouts, MPI_Op op, const Layout& layout)
    : layouts_(layouts), op_(op), layout_(layout) {
  int commutative = 0;
  require_success(PMPI_Op_commutative(op, &commutative));
  commutative_ = commutative != 0;
  const MPI_Count bytes = std::max<MPI_Count>(
      layout.size_bytes, std::max<MPI_Count>(layout.extent_bytes, -layout.extent_bytes));
  const MPI_Count batch = std::max<MPI_Count>(kBatchBytes / bytes, 1);
  batch_ = static_cast<std::size_t>(batch);
  right_.make(layout, batch);
  if (!layout.contiguous) left_.make(layout, batch);
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  only_in_calls_ = level != MPI_THREAD_MULTIPLE;
}

Operation HostOperation::operation() const {
  return {.element_bytes = static_cast<std::size_t>(layout_.size_bytes),
          .commutative = commutative_,
          .associative = false,
          .combine = &combine,
          .fold = nullptr,
          .context = this,
          .only_in_calls = only_in_calls_};
}

// MPI's functions put "left op right" into right.
void HostOperation::apply(const std::byte* left, std::byte* right, std::size_t elements) const {
  require_success(PMPI_Reduce_local(left, right, static_cast<int>(elements), layout_.type, op_));
}

void HostOperation::throw_if_failed() {
  require_success(std::exchange(code_, MPI_SUCCESS));
}

// Called by the executor, so it must not throw: throw_if_failed() does later.
void HostOperation::combine(const void* self, std::byte* dst, const std::byte* left,
                            const std::byte* right, std::size_t elements) noexcept {
  const auto& host = *static_cast<const HostOperation*>(self);
  const auto element_bytes = static_cast<std::size_t>(host.layout_.size_bytes);
  try {
    for (std::size_t at = 0; at < elements; at += host.batch_) {
      const std::size_t offset = at * element_bytes;
      const std::size_t now = std::min(host.batch_, elements - at);
      if (host.layout_.contiguous) {
        host.combine_contiguous(dst + offset, left + offset, right + offset, now);
      } else {
        host.combine_unpacked(dst + offset, left + offset, right + offset, now);
      }
    }
  } catch (const HostError& error) {
    host.code_ = error.code;
  }
}

void HostOperation::combine_contiguous(std::byte* dst, const std::byte* left,
                                       const std::byte* right, std::size_t elements) const {
  const std::size_t bytes = elements * static_cast<std::size_t>(layout_.size_bytes);
  std::byte* result = dst == left ? right_.get() : dst;
  if (result != right) std::memcpy(result, right, bytes);
  apply(left, result, elements);
  if (result != dst) std::memcpy(dst, result, bytes);
}

void HostOperation::combine_unpacked(std::byte* dst, const std::byte* left, const std::byte* right,
                                     std::size_t elements) const {
  const auto count = static_cast<MPI_Count>(elements);
  layouts_.unpack(left, left_.get(), count, layout_);
  layouts_.unpack(right, right_.get(), count, layout_);
  apply(left_.get(), right_.get(), elements);
  layouts_.pack(right_.get(), count, layout_, dst);
}

}  // namespace weft::mpi
