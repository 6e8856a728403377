// Inline messages that a rank finds in its own plan, against those found in the plans of all ranks.
#include "engine/program/inline_messages.hpp"
#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <ostream>

namespace weft::engine {

bool operator==(const InlineOp& a, const InlineOp& b) {
  return a.op == b.op && a.part == b.part && a.place == b.place && a.ordinal == b.ordinal &&
         a.bytes == b.bytes;
}

void PrintTo(const InlineOp& message, std::ostream* out) {
  *out << "op " << message.op << ", part " << static_cast<int>(message.part) << ", place "
       << message.place << ", " << to_string(message.bytes);
}

}  // namespace weft::engine

namespace weft::engine::inline_messages_test {
namespace {

using hierarchy::Machine;
using plan::Block;
using plan::Problem;

/// Sizes on both sides of what an inline message holds, and of what a slot does; dense.
Problem any_alltoallv(int ranks) {
  Problem problem;
  problem.collective = plan::Collective::alltoallv;
  problem.ranks = ranks;
  const auto count = static_cast<std::size_t>(ranks);
  problem.sends.assign(count, std::vector<Block>(count));
  problem.receives = problem.sends;
  const auto size = rc::gen::element<std::uint64_t>(0, 1, 8, 247, 248, 249, 1000, 4096, 4097);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      problem.sends[from][to].bytes = problem.receives[to][from].bytes = *size.as("bytes");
    }
  }
  for (auto* rows : {&problem.sends, &problem.receives}) {
    for (auto& row : *rows) {
      std::uint64_t end = 0;
      for (Block& block : row) end += (block.offset = end, block.bytes);
    }
  }
  return problem;
}

RC_GTEST_PROP(InlineMessages, FoundInOnePlanAreThoseFoundInAllPlans, ()) {
  const int ranks = *rc::gen::inRange(1, 6).as("ranks");
  const Problem problem = any_alltoallv(ranks);
  const auto machine = Machine::uniform(1, ranks);
  const auto algorithm =
      registry::Algorithm::parse(plan::Collective::alltoall, "sa:aggregate=4096");
  std::vector<plan::Plan> plans;
  std::vector<int> places(static_cast<std::size_t>(ranks));
  std::iota(places.begin(), places.end(), 0);
  for (const int rank : places) plans.push_back(algorithm.plan(problem, machine, rank));
  for (const int place : places) {
    auto found = inline_messages_of_slots(plans[static_cast<std::size_t>(place)], places);
    std::ranges::sort(found, {}, &InlineOp::op);
    const auto expected = find_inline_messages(plans, place);
    ASSERT_EQ(found, expected) << "place " << place;
  }
}

// Both ends of a message plan only for the ranks that they exchange signals with, and find the same
// as from all plans of the node.
RC_GTEST_PROP(InlineMessages, FoundInThePlansOfPeersAreThoseFoundInAllPlans, ()) {
  const auto machine = hierarchy::any_machine(12);
  const int ranks = machine.ranks();
  const auto collectives = plan::all_collectives();
  const auto collective = collectives[*rc::gen::inRange<std::size_t>(0, collectives.size())];
  RC_PRE(collective != plan::Collective::alltoallv);
  const auto algorithms = registry::variants(collective, ranks, 64);
  const auto& algorithm = algorithms[*rc::gen::inRange<std::size_t>(0, algorithms.size())];
  Problem problem = Problem::alltoall(ranks, *rc::gen::element<std::uint64_t>(8, 64, 240, 248));
  problem.collective = collective;
  if (is_reduction(collective)) problem.element_bytes = 8;
  if (is_rooted(collective)) problem.root = *rc::gen::inRange(0, ranks);
  RC_PRE(!algorithm.refusal(problem, machine));
  RC_TAG(algorithm.name());
  const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine, rank); };
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto local = machine.ranks_on(node);
    std::vector<plan::Plan> all;
    for (const int rank : local) all.push_back(plan_of(rank));
    for (int place = 0; place < static_cast<int>(local.size()); ++place) {
      const plan::Plan& own = all[static_cast<std::size_t>(place)];
      const auto some = plans_for_inline_messages(own, local, plan_of);
      RC_ASSERT(find_inline_messages(some, place) == find_inline_messages(all, place));
    }
  }
}

}  // namespace
}  // namespace weft::engine::inline_messages_test
