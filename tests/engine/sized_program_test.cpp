// Sized programs, against programs of the plans of each size.
#include "engine/program/sized_program.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "registry/families.hpp"
#include "registry/variants.hpp"
#include "tests/engine/alike_programs.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::engine::sized_program_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using plan::Extent;
using plan::Family;
using plan::Problem;

/// Of the ranks of a node; empty where some rank has none.
std::vector<Family> families_of(const registry::Algorithm& algorithm, const Problem& largest,
                                const Machine& machine, int& units) {
  std::vector<Family> families;
  units = registry::finest_units(algorithm, largest, machine);
  auto common = static_cast<std::uint64_t>(units);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    auto family = registry::family_of(algorithm, largest, machine, rank);
    if (!family) return {};
    common = std::gcd(common, family->common_units());
    families.push_back(std::move(*family));
  }
  if (common == 0) return {};
  for (Family& family : families) family = family.in_larger_units(common);
  units /= static_cast<int>(common);
  return families;
}

// Made for one size and resized to others that it fits, it is the program that is made for each of
// them: with the same bytes in signals, the same folds, and the same numbers.
RC_GTEST_PROP(SizedPrograms, AreTheProgramsOfEachSize, ()) {
  const auto machine = hierarchy::any_machine(9);
  const int ranks = machine.ranks();
  const auto collectives = plan::all_collectives();
  const auto collective = collectives[*rc::gen::inRange<std::size_t>(0, collectives.size())];
  RC_PRE(collective != Collective::alltoallv && collective != Collective::barrier);
  Problem largest = Problem::alltoall(
      ranks, std::uint64_t{1} << *rc::gen::inRange(3, 18).as("bits of the largest"));
  largest.collective = collective;
  if (is_reduction(collective)) largest.element_bytes = 8;
  if (is_rooted(collective)) largest.root = *rc::gen::inRange(0, ranks);
  const auto algorithms = registry::variants(collective, ranks, largest.block_bytes / 2);
  const auto& algorithm = algorithms[*rc::gen::inRange<std::size_t>(0, algorithms.size())];
  RC_PRE(!algorithm.refusal(largest, machine));
  RC_TAG(algorithm.name());
  int units = 0;
  const auto families = families_of(algorithm, largest, machine, units);
  RC_PRE(!families.empty());

  const std::uint64_t element = largest.element_bytes;
  const auto any_extent = [&] {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(largest.block_bytes / 2 / element,
                                                        largest.block_bytes / element + 1);
    return plan::extent_of(std::max<std::uint64_t>(1, bytes) * element, element, units);
  };
  const int rank = *rc::gen::inRange(0, ranks).as("rank");
  const auto local = machine.ranks_on(machine.node_of(rank));
  const auto places = static_cast<int>(local.size());
  std::vector<int> place_of_rank(static_cast<std::size_t>(ranks), -1);
  std::vector<const Family*> of_node;
  for (const int one : local) {
    place_of_rank[static_cast<std::size_t>(one)] = machine.place_of(one);
    of_node.push_back(&families[static_cast<std::size_t>(one)]);
  }
  const auto first = any_extent();
  RC_PRE(first.has_value());
  const SizedProgram sized(of_node, machine.place_of(rank), place_of_rank, units, places > 1,
                           *first);
  RC_ASSERT(sized.fits(*first));
  Program program = sized.program(*first);
  for (int turn = 0; turn < 6; ++turn) {
    const auto extent = any_extent();
    if (!extent || !sized.fits(*extent)) continue;
    sized.resize(program, *extent);
    std::vector<plan::Plan> plans;
    for (const Family* family : of_node) plans.push_back(family->at(*extent));
    const auto block = static_cast<std::uint64_t>(units) * extent->unit - extent->tail;
    const auto messages = places > 1 && block <= kInlineBytes
                              ? find_inline_messages(plans, machine.place_of(rank))
                              : std::vector<InlineOp>();
    expect_alike(program, Program(plans[static_cast<std::size_t>(machine.place_of(rank))],
                                  place_of_rank, places, messages));
  }
}

}  // namespace
}  // namespace weft::engine::sized_program_test
