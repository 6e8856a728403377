// Families: the plans of all sizes of a class are one plan with other numbers.
#include "registry/families.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "plan/text.hpp"
#include "plan/verify/verify_family.hpp"
#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/registry/support.hpp"

namespace weft::registry::family_test {
namespace {

using algorithm::Parameter;
using hierarchy::Machine;
using plan::Collective;
using plan::Extent;
using plan::Family;
using plan::Problem;

Problem problem_of(Collective collective, const Machine& machine, std::uint64_t element,
                   std::uint64_t elements) {
  Problem problem = Problem::alltoall(machine.ranks(), element * elements);
  problem.collective = collective;
  if (is_reduction(collective)) problem.element_bytes = element;
  if (is_rooted(collective)) problem.root = machine.ranks() - 1;
  return problem;
}

/// Families of all ranks in the largest units that all have in common; none where a rank has none.
struct Families {
  int units = 0;
  std::vector<Family> of_rank;
};

Families families_of(const Algorithm& algorithm, const Problem& largest, const Machine& machine) {
  Families families{finest_units(algorithm, largest, machine), {}};
  auto common = static_cast<std::uint64_t>(families.units);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    auto family = family_of(algorithm, largest, machine, rank);
    if (!family) return {};
    common = std::gcd(common, family->common_units());
    families.of_rank.push_back(std::move(*family));
  }
  if (common == 0) return {};
  for (Family& family : families.of_rank) family = family.in_larger_units(common);
  families.units /= static_cast<int>(common);
  return families;
}

Problem resized(const Problem& problem, std::uint64_t bytes) {
  Problem other = problem;
  other.block_bytes = other.stride = bytes;
  return other;
}

/// Empty where all members of the class solve their problems.
std::string flaws_of_class(const Families& families, const Problem& largest,
                           const Machine& machine) {
  const auto problem_at = [&](const Extent& extent) {
    return resized(largest, static_cast<std::uint64_t>(families.units) * extent.unit - extent.tail);
  };
  std::string text;
  for (const auto& flaw :
       plan::verify_family(problem_at, families.units, machine.node_of_rank(), families.of_rank)) {
    text += to_string(flaw) + "\n";
  }
  return text;
}

class FamiliesOf : public testing::TestWithParam<Collective> {};

// The class, not a sample of it: whatever the size.
TEST_P(FamiliesOf, SolveTheirProblemsAtEverySize) {
  const Collective collective = GetParam();
  std::mt19937 random(static_cast<unsigned>(collective) + 1);
  for (const char* text : {"1x1", "1x2", "1x3", "1x5", "1x8", "3x1", "8x1", "2x2", "2x3", "1+3+2",
                           "0,1,1,0,2", "2x4/2", "13x1", "4x4:cyclic"}) {
    const Machine machine = Machine::parse(text);
    const std::uint64_t element = std::array{1, 2, 8, 12, 24}[random() % 5];
    Problem largest = problem_of(collective, machine, element,
                                 std::max<std::uint64_t>(1, (1ull << random() % 18) / element));
    largest.commutative = random() % 4 != 0;
    largest.associative = random() % 2 != 0;
    for (const Algorithm& algorithm : variants(
             collective, machine.ranks(), std::max<std::uint64_t>(largest.block_bytes / 3, 1))) {
      if (algorithm.refusal(largest, machine)) continue;
      const Families families = families_of(algorithm, largest, machine);
      if (families.of_rank.empty()) {
        // Segments of several blocks together end within one.
        ASSERT_TRUE(has_blocks_of_all(collective) && algorithm.reads(Parameter::segment) &&
                    algorithm.parameters().segment != 0)
            << algorithm.name() << " on " << text;
        continue;
      }
      ASSERT_EQ(flaws_of_class(families, largest, machine), "")
          << algorithm.name() << " on " << text << ", " << largest.block_bytes << " bytes in "
          << families.units << " units of elements of " << largest.element_bytes;
    }
  }
}

// Against plans that are emitted for a size of the class, in the family's units. All sizes are 64
// times as large there, so that nothing is rounded up.
TEST_P(FamiliesOf, HaveTheMembersThatAreEmitted) {
  const Collective collective = GetParam();
  std::mt19937 random(static_cast<unsigned>(collective) + 100);
  for (const char* text : {"1x2", "1x5", "8x1", "2x3", "1+3+2", "2x4/2", "4x4:cyclic"}) {
    const Machine machine = Machine::parse(text);
    const std::uint64_t element = std::array{1, 2, 8, 12, 24}[random() % 5];
    const Problem largest = problem_of(collective, machine, element, 4096 / element);
    for (const Algorithm& algorithm : variants(collective, machine.ranks(), 2048)) {
      if (algorithm.refusal(largest, machine)) continue;
      const Families families = families_of(algorithm, largest, machine);
      if (families.of_rank.empty()) continue;
      const std::uint64_t elements = 2048 / element + random() % (2048 / element);
      const auto extent =
          plan::extent_of(elements * element, largest.element_bytes, families.units);
      if (!extent) continue;
      constexpr std::uint64_t kTimes = plan::kSliceAlignment;
      Problem emitted = resized(largest, kTimes * elements * element);
      emitted.cut_bytes = kTimes * extent->unit;
      if (is_reduction(collective)) emitted.element_bytes = kTimes * element;
      const Algorithm scaled =
          algorithm.in_proportion(static_cast<std::uint64_t>(families.units) * emitted.cut_bytes,
                                  largest.block_bytes, emitted.cut_bytes);
      for (int rank = 0; rank < machine.ranks(); ++rank) {
        const plan::Plan plan = scaled.plan(emitted, machine, rank);
        const Family& family = families.of_rank[static_cast<std::size_t>(rank)];
        ASSERT_EQ(plan::to_text(family.at({kTimes * extent->unit, kTimes * extent->tail})),
                  plan::to_text(plan))
            << algorithm.name() << " on " << text << ", " << elements << " elements of " << element
            << " in " << families.units << " units";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, FamiliesOf,
                         testing::Values(Collective::alltoall, Collective::broadcast,
                                         Collective::scatter, Collective::gather,
                                         Collective::allgather, Collective::reduce,
                                         Collective::allreduce, Collective::reduce_scatter,
                                         Collective::scan, Collective::exscan),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace weft::registry::family_test
