#include "plan/verify/matched.hpp"

#include "base/error.hpp"
#include "plan/text.hpp"

namespace weft::plan {

namespace {

OpTable table_of(std::string_view purpose, std::span<const int> node_of_rank,
                 std::span<const Plan> plans) {
  if (node_of_rank.size() != plans.size()) {
    throw_usage("no {}: {} plans and the nodes of {} ranks", purpose, plans.size(),
                node_of_rank.size());
  }
  const int ranks = static_cast<int>(plans.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Plan& plan = plans[static_cast<std::size_t>(rank)];
    const int node = node_of_rank[static_cast<std::size_t>(rank)];
    if (plan.rank() != rank || plan.ranks() != ranks) {
      throw_usage("no {}: plan {} of {} is for rank {} of {}", purpose, rank, ranks, plan.rank(),
                  plan.ranks());
    }
    if (node < 0 || node >= ranks) {
      throw_usage("no {}: rank {} is on node {}, nodes are 0 to {}", purpose, rank, node,
                  ranks - 1);
    }
  }
  return OpTable(plans);
}

Matching match_all(std::string_view purpose, const OpTable& ops) {
  Matching matching = match(ops);
  const auto fail = [&](OpId op, std::string_view why) {
    throw_usage("no {} for plans that do not match: rank {} op {} ({}) {}", purpose, ops.rank(op),
                ops.id(op), to_string(ops[op]), why);
  };
  if (!matching.unmatched.empty()) fail(matching.unmatched.front(), "has no other end");
  if (!matching.unequal.empty()) fail(matching.unequal.front(), "is not as long as its send");
  return matching;
}

}  // namespace

MatchedPlans::MatchedPlans(std::string_view purpose, std::span<const int> node_of_rank,
                           std::span<const Plan> plans)
    : ops(table_of(purpose, node_of_rank, plans)),
      matching(match_all(purpose, ops)),
      graph(ops, matching) {
  if (!graph.cycle().empty()) {
    throw_usage("no {} for plans whose ops wait for one another in a circle", purpose);
  }
}

}  // namespace weft::plan
