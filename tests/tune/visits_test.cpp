// The order in which the ranks of a node read one another's memory, under the fixed rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hierarchy/machine.hpp"
#include "tune/fixed_rules.hpp"

namespace weft::tune::visits_test {
namespace {

using plan::Collective;
using plan::Op;
using plan::OpKind;
using plan::Plan;
using plan::Space;

/// The ranks from whose buffers or stages a plan copies, in order. Copies that begin a row of
/// reductions into the same bytes are left out: such a row reads all of its sources at once.
std::vector<int> visits(const Plan& plan) {
  std::vector<int> owners;
  const auto& ops = plan.ops();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    if (op.kind != OpKind::copy || op.src.owner == plan.rank()) continue;
    if (op.src.space == Space::scratch) continue;
    const bool begins_row = std::any_of(ops.begin(), ops.end(), [&op](const Op& other) {
      return other.kind == OpKind::reduce && other.dst.space == op.dst.space &&
             other.dst.offset == op.dst.offset;
    });
    if (!begins_row) owners.push_back(op.src.owner);
  }
  return owners;
}

class Visits : public testing::TestWithParam<Collective> {};

TEST_P(Visits, NeverReadOneSourceAtATime) {
  for (int ranks = 2; ranks <= 40; ++ranks) {
    const auto machine = hierarchy::Machine::uniform(1, ranks);
    auto problem = plan::Problem::alltoall(ranks, std::uint64_t{64} << 10);
    problem.collective = GetParam();
    problem.element_bytes = 8;
    const auto algorithm = choose_by_rules(problem, {machine, Direct::loads});
    std::vector<std::vector<int>> all;
    for (int rank = 0; rank < ranks; ++rank) {
      all.push_back(visits(algorithm.plan(problem, machine, rank)));
      ASSERT_EQ(all.back().size(), static_cast<std::size_t>(ranks - 1)) << algorithm.name();
    }
    for (std::size_t step = 0; step + 1 < static_cast<std::size_t>(ranks); ++step) {
      std::set<int> sources;
      for (const auto& owners : all) sources.insert(owners[step]);
      EXPECT_EQ(sources.size(), all.size())
          << algorithm.name() << " of " << ranks << " ranks, step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfChosenPlans, Visits,
                         testing::Values(Collective::alltoall, Collective::allgather,
                                         Collective::allreduce),
                         [](const auto& one) { return std::string(to_string(one.param)); });

}  // namespace
}  // namespace weft::tune::visits_test
