// Stages: shared memory of a node's ranks for data on its way, two halves for each rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/node/slab_registrations.hpp"

namespace weft::engine {

/// Executions use the two halves in turn, so that a rank may begin one while a neighbour still
/// reads what the last one left. Made in two steps: construct, exchange handle(), attach().
class Stages {
 public:
  Stages(int place, int places, std::size_t half_bytes, MemoryUse use);

  std::string handle() const { return segments_[place_].handle(); }
  void attach(std::span<const std::string> handles);

  int places() const { return static_cast<int>(segments_.size()); }
  std::size_t half_bytes() const { return half_bytes_; }
  std::byte* half(int place, std::uint64_t execution) const {
    return segments_[place].data() + (execution & 1) * half_bytes_;
  }

  /// Lets the device read and write the stage of `place`. Does nothing the second time.
  /// SystemError.
  void register_with(SlabRegistrations& registrations, int place);
  /// The endpoint's key of the stage of `place`; 0 where it is not registered.
  std::uint32_t key(int place) const {
    return leases_[place] == nullptr ? 0 : leases_[place]->lkey();
  }

 private:
  int place_;
  std::size_t half_bytes_;
  std::vector<SharedMemory> segments_;            // by place
  std::vector<SlabRegistrations::Lease> leases_;  // by place; null: not registered
};

}  // namespace weft::engine
