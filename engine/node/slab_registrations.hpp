// Registrations of slabs with a device: one for each slab, whatever the number of blocks in use.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/node/shared_memory.hpp"
#include "verbs/connection/endpoint.hpp"

namespace weft::engine {

/// Blocks of one slab share its registration, also those of different communicators. It ends with
/// the last of its leases; that of the first slab, which outlives all blocks, stays. Thread safe.
class SlabRegistrations {
 public:
  /// While it lives its key is that of the block that it was taken for.
  using Lease = std::shared_ptr<const verbs::Registration>;

  explicit SlabRegistrations(verbs::Endpoint& endpoint) : endpoint_(endpoint) {}
  SlabRegistrations(const SlabRegistrations&) = delete;
  SlabRegistrations& operator=(const SlabRegistrations&) = delete;

  /// Of a block for the device (MemoryUse::device). SystemError where the device refuses it.
  Lease of(const SharedMemory& block);

 private:
  /// In this order: the memory outlives its registration.
  struct Registered {
    std::shared_ptr<const void> slab;
    verbs::Registration registration;
  };

  verbs::Endpoint& endpoint_;
  std::mutex mutex_;
  std::map<const std::byte*, std::weak_ptr<const Registered>> known_;  // by address
  Lease first_;
};

}  // namespace weft::engine
