// Neighbour exchange: blocks for a rank's neighbours. Each rank plans for itself, from its edges.
//
// Nothing is agreed upon from call to call, and no call looks at ranks that are no neighbours. A
// plan is a function of the machine, which stays, and of the rank's own edges; both ends of an edge
// know its size, so they plan alike for each other (alltoall/schemes/neighbours.cpp). So the plan
// of any earlier call with the same edges serves again, whatever the others do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"
#include "plan/edge.hpp"

namespace weft::comm {

/// Made at the first neighbourhood exchange of a communicator.
class NeighbourExchange {
 public:
  static constexpr const char* kAlgorithm = "neighbours";

  /// Collective.
  explicit NeighbourExchange(Resources& resources);

  /// The program for these edges. UsageError where an edge names no rank.
  const std::shared_ptr<Call>& call_for(std::span<const Edge> out, std::span<const Edge> in);
  /// Adds what the calls so far had for each rank.
  void add_sent(std::span<std::uint64_t> bytes) const;

 private:
  struct Known {
    plan::Edges edges;
    std::shared_ptr<Call> call;
    std::uint64_t uses = 0;
  };
  // A program that exchanges halos has a handful of shapes.
  static constexpr std::size_t kMostKnown = 16;

  Known& known(std::span<const Edge> out, std::span<const Edge> in);
  void add_uses(const Known& one, std::span<std::uint64_t> bytes) const;
  engine::Prepared prepare(const plan::Edges& edges);

  Resources& resources_;
  std::uint64_t most_in_slot_ = 0;
  bool is_connected_ = false;        // all ranks have made their first call
  std::vector<Known> known_;         // oldest first
  std::size_t last_ = 0;             // of these
  std::vector<std::uint64_t> sent_;  // by rank: bytes of the calls that are forgotten
};

}  // namespace weft::comm
