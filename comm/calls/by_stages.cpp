// Calls by stages: as if no rank read a buffer of its neighbours, for those who have measured which
// way takes less time.
#include "comm/calls/impl.hpp"

namespace weft {

/// Where a rank knows its own blocks only each block has its way by its size.
comm::Calls& Communicator::Impl::calls_of(const comm::Task& task) {
  const bool has_two_ways =
      !task.irregular && task.problem.collective != plan::Collective::alltoallv;
  if (!is_by_stages_ || !has_two_ways || machine().nodes() != 1) return calls_;
  calls_.forget_last();
  if (by_stages_ == nullptr) by_stages_ = std::make_unique<ByStages>(*this);
  return by_stages_->calls;
}

std::uint64_t Communicator::Impl::bytes_outside_heap() const noexcept {
  return machine().nodes() == 1 ? resources_.bytes_by_kernel() + copies_.copied_bytes() : 0;
}

void Communicator::set_by_stages(bool by_stages) noexcept {
  impl_->set_by_stages(by_stages);
}

std::uint64_t Communicator::bytes_outside_heap() const noexcept {
  return impl_->bytes_outside_heap();
}

}  // namespace weft
