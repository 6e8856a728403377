// Stages: shared memory of a node's ranks for data on its way, two halves for each rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/node/shared_memory.hpp"
#include "verbs/connection/endpoint.hpp"

namespace weft::engine {

/// Executions use the two halves in turn, so that a rank may begin one while a neighbour still
/// reads what the last one left. Made in two steps: construct, exchange handle(), attach().
class Stages {
 public:
  Stages(int place, int places, std::size_t half_bytes);

  std::string handle() const { return segments_[place_].handle(); }
  void attach(std::span<const std::string> handles);

  std::size_t half_bytes() const { return half_bytes_; }
  std::byte* half(int place, std::uint64_t execution) const {
    return segments_[place].data() + (execution & 1) * half_bytes_;
  }

  /// Lets the device read and write them. Does nothing the second time.
  void register_with(verbs::Endpoint& endpoint);
  std::uint32_t lkey(int place) const { return registrations_[place].lkey(); }
  std::uint32_t rkey(int place) const { return registrations_[place].rkey(); }

 private:
  int place_;
  std::size_t half_bytes_;
  std::vector<SharedMemory> segments_;              // by place
  std::vector<verbs::Registration> registrations_;  // by place; after what they register
};

}  // namespace weft::engine
