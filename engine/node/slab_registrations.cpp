#include "engine/node/slab_registrations.hpp"

namespace weft::engine {

SlabRegistrations::Lease SlabRegistrations::of(const SharedMemory& block) {
  const auto [memory, owner] = block.slab();
  const std::lock_guard lock(mutex_);
  auto& known = known_[memory.data()];
  auto registered = known.lock();
  if (registered == nullptr) {
    auto made = std::make_shared<Registered>();
    made->registration = endpoint_.register_memory(memory.data(), memory.size());
    made->slab = owner;
    known = registered = std::move(made);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  }
  Lease lease(registered, &registered->registration);
  if (first_ == nullptr) first_ = lease;
  return lease;
}

}  // namespace weft::engine
