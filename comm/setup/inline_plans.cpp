#include "comm/setup/inline_plans.hpp"

namespace weft::comm {

std::vector<engine::InlineOp> inline_messages_of(const tune::Algorithm& algorithm,
                                                 const plan::Problem& problem,
                                                 const hierarchy::Machine& machine,
                                                 const plan::Plan& own) {
  const auto local = machine.ranks_on(machine.node_of(own.rank()));
  const bool none = problem.block_bytes == 0 || problem.block_bytes > engine::kInlineBytes;
  if (local.size() == 1 || none || problem.in_place) return {};
  const auto plans = engine::plans_for_inline_messages(
      own, local, [&](int rank) { return algorithm.plan(problem, machine, rank); });
  return engine::find_inline_messages(plans, machine.place_of(own.rank()));
}

}  // namespace weft::comm
