// Matched plans: the plans of all ranks, their matching, and the weakest order of their events.
#pragma once

#include <span>
#include <string_view>

#include "plan/verify/events.hpp"

namespace weft::plan {

struct MatchedPlans {
  /// A view of `plans`. UsageError, which names `purpose`, where the plans are not one a rank, do
  /// not match or wait in a circle, or where nodes are outside [0, ranks).
  MatchedPlans(std::string_view purpose, std::span<const int> node_of_rank,
               std::span<const Plan> plans);

  OpTable ops;
  Matching matching;
  EventGraph graph;
};

}  // namespace weft::plan
