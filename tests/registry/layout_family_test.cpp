// Layout families: the plans for all lists of block sizes are one plan with other numbers.
#include "plan/layout_family.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "registry/families.hpp"
#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/registry/support.hpp"

namespace weft::registry::layout_family_test {
namespace {

using hierarchy::Machine;
using plan::Block;
using plan::Collective;
using plan::LayoutFamily;
using plan::Problem;

Problem problem_of(Collective collective, const Machine& machine, std::uint64_t element) {
  Problem problem = Problem::alltoall(machine.ranks(), 0);
  problem.collective = collective;
  if (is_reduction(collective)) problem.element_bytes = element;
  return problem;
}

Problem largest_of(Problem problem, std::uint64_t bytes) {
  problem.block_bytes = problem.stride = bytes / problem.element_bytes * problem.element_bytes;
  return problem;
}

/// Side by side.
std::vector<Block> layout_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<Block> layout;
  std::uint64_t end = 0;
  for (const std::uint64_t bytes : sizes) {
    // Those without bytes may be anywhere.
    layout.push_back({bytes == 0 ? 0 : end, bytes});
    end += bytes;
  }
  return layout;
}

/// Of all ranks; none where some rank has none.
std::vector<LayoutFamily> families_of(const Algorithm& algorithm, const Problem& largest,
                                      const Machine& machine) {
  std::vector<LayoutFamily> families;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    auto family = layout_family_of(algorithm, largest, machine, rank);
    if (!family) return {};
    families.push_back(std::move(*family));
  }
  return families;
}

std::vector<plan::Plan> members_at(std::span<const LayoutFamily> families, const Problem& problem) {
  std::vector<plan::Plan> plans;
  for (const LayoutFamily& family : families) plans.push_back(family.at(problem));
  return plans;
}

/// Empty where the members solve the problem.
std::string flaws_of_members(std::span<const plan::Plan> plans, const Problem& problem,
                             const Machine& machine) {
  std::string text;
  for (const auto& flaw : plan::verify(problem, machine.node_of_rank(), plans)) {
    text += to_string(flaw) + "\n";
    if (flaw.rank >= 0 && text.size() < 200) text += plan::to_text(plans[flaw.rank]);
  }
  return text;
}

constexpr Collective kCollectives[] = {Collective::allgather, Collective::reduce_scatter};

RC_GTEST_PROP(LayoutFamilies, SolveTheirProblemsForEveryList, ()) {
  const auto collective =
      *rc::gen::elementOf(std::vector(std::begin(kCollectives), std::end(kCollectives)));
  const auto machine = hierarchy::any_machine(9);
  Problem problem = problem_of(collective, machine, 8);
  problem.commutative = *rc::gen::arbitrary<bool>();
  problem.associative = *rc::gen::arbitrary<bool>();
  const auto algorithms = variants(collective, machine.ranks());
  const auto& algorithm = algorithms[*rc::gen::inRange<std::size_t>(0, algorithms.size())];
  RC_TAG(algorithm.name());
  const Problem largest = largest_of(problem, 1024);
  RC_PRE(!algorithm.refusal(largest, machine));
  const auto families = families_of(algorithm, largest, machine);
  RC_PRE(!families.empty());
  const auto elements = *rc::gen::container<std::vector<std::uint64_t>>(
                             static_cast<std::size_t>(machine.ranks()),
                             rc::gen::element<std::uint64_t>(0, 1, 1, 2, 3, 7, 40, 100))
                             .as("elements");
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t count : elements) sizes.push_back(count * problem.element_bytes);
  problem.layout = layout_of(sizes);
  RC_PRE(std::ranges::any_of(sizes, [](std::uint64_t bytes) { return bytes != 0; }));
  const auto plans = members_at(families, problem);
  const std::string flaws = flaws_of_members(plans, problem, machine);
  if (!flaws.empty()) RC_LOG() << algorithm.name() << " on " << to_string(machine) << '\n' << flaws;
  RC_ASSERT(flaws.empty());
}

// A plan then begins with reductions that have no bytes.
TEST(LayoutFamilies, SolveReductionsOfOneBlock) {
  for (const char* text : {"1x2", "1x3", "2x2", "2x3", "1+3+2"}) {
    const Machine machine = Machine::parse(text);
    Problem problem = problem_of(Collective::reduce_scatter, machine, 8);
    const Problem largest = largest_of(problem, 1024);
    for (const Algorithm& algorithm : variants(Collective::reduce_scatter, machine.ranks())) {
      if (algorithm.refusal(largest, machine)) continue;
      const auto families = families_of(algorithm, largest, machine);
      for (std::size_t only = 0; only < families.size(); ++only) {
        std::vector<std::uint64_t> sizes(families.size());
        sizes[only] = 8;
        problem.layout = layout_of(sizes);
        EXPECT_EQ(flaws_of_members(members_at(families, problem), problem, machine), "")
            << algorithm.name() << " on " << text << ", of rank " << only;
      }
    }
  }
}

// As an algorithm emits them, where nothing is rounded up, no block is empty, and no two sizes make
// a pattern. (Reductions may take other rooms in scratch memory: those that are free and large
// enough.)
TEST(LayoutFamilies, HaveTheMembersThatAreEmitted) {
  std::mt19937_64 random(1);
  for (const char* text : {"1x1", "1x2", "1x5", "8x1", "2x3", "1+3+2", "2x4/2", "4x4:cyclic"}) {
    const Machine machine = Machine::parse(text);
    Problem problem = problem_of(Collective::allgather, machine, 1);
    const Problem largest = largest_of(problem, 1 << 20);
    std::vector<std::uint64_t> sizes;
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      sizes.push_back(plan::kSliceAlignment * (1 + random() % (1 << 14)));
    }
    problem.layout = layout_of(sizes);
    for (const Algorithm& algorithm :
         variants(Collective::allgather, machine.ranks(), 4 * largest.block_bytes)) {
      if (algorithm.refusal(largest, machine)) continue;
      const auto families = families_of(algorithm, largest, machine);
      for (std::size_t rank = 0; rank < families.size(); ++rank) {
        ASSERT_EQ(plan::to_text(families[rank].at(problem)),
                  plan::to_text(algorithm.plan(problem, machine, static_cast<int>(rank))))
            << algorithm.name() << " on " << text;
      }
    }
  }
}

// Where the ranks of a node follow one another, what leaders pack are runs.
TEST(LayoutFamilies, AreThereForEveryAllgather) {
  for (const char* text : {"1x2", "1x3", "1x8", "8x1", "2x3", "1+3+2", "2x4/2"}) {
    const Machine machine = Machine::parse(text);
    const Problem largest = largest_of(problem_of(Collective::allgather, machine, 1), 1 << 16);
    for (const Algorithm& algorithm : variants(Collective::allgather, machine.ranks(), 1 << 16)) {
      if (algorithm.refusal(largest, machine)) continue;
      EXPECT_FALSE(families_of(algorithm, largest, machine).empty())
          << algorithm.name() << " on " << text;
    }
  }
}

TEST(LayoutFamilies, AreNotThereWhereBlocksAreCut) {
  const Machine machine = Machine::parse("1x4");
  const Problem largest = largest_of(problem_of(Collective::reduce_scatter, machine, 8), 1 << 16);
  const auto has = [&](const char* name) {
    const auto algorithm = Algorithm::parse(Collective::reduce_scatter, name);
    return !families_of(algorithm, largest, machine).empty();
  };
  EXPECT_TRUE(has("pairwise"));
  EXPECT_FALSE(has("pairwise:segment=4096"));
  EXPECT_FALSE(has("leader"));
}

}  // namespace
}  // namespace weft::registry::layout_family_test
