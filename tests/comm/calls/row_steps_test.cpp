// Programs of alltoallvs that are renumbered for another row, against those of that row's plan.
#include "comm/irregular/row_steps.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "hierarchy/local_blocks.hpp"
#include "registry/algorithm.hpp"
#include "tests/engine/alike_programs.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::comm::row_steps_test {
namespace {

using hierarchy::Machine;
using plan::Block;
using Row = std::vector<Block>;

struct Case {
  Machine machine = Machine::uniform(1, 1);
  int rank = 0;
  registry::Algorithm algorithm;
  std::vector<int> place_of_rank = {};

  std::uint64_t most_staged() const { return algorithm.parameters().aggregate; }
  std::size_t ranks() const { return static_cast<std::size_t>(machine.ranks()); }

  engine::Program program(const Row& row) const {
    const std::span<const Block> blocks = row;
    const auto known = hierarchy::LocalBlocks::of_rank(machine, rank, blocks.first(ranks()),
                                                       blocks.subspan(ranks()), false);
    const plan::Plan plan = algorithm.plan(known, machine, rank);
    const bool in_slots = !algorithm.is_flat() && machine.nodes() == 1;
    return {plan, place_of_rank, static_cast<int>(machine.ranks_on(machine.node_of(rank)).size()),
            in_slots ? engine::inline_messages_of_slots(plan, place_of_rank)
                     : std::vector<engine::InlineOp>()};
  }
  std::vector<BlockWay> ways(const Row& row) const {
    std::vector<BlockWay> result;
    for (const Block& block : row) result.push_back(way_of(block.bytes, most_staged()));
    return result;
  }
  RowSteps steps(const engine::Program& program, const Row& row) const {
    return {program, program.peers(), machine, rank, row, ways(row)};
  }
};

Case any_case(const Machine& machine, const std::string& algorithm) {
  Case result{machine, *rc::gen::inRange(0, machine.ranks()).as("rank"),
              registry::Algorithm::parse(plan::Collective::alltoallv, algorithm)};
  result.place_of_rank.assign(result.ranks(), -1);
  for (const int one : machine.ranks_on(machine.node_of(result.rank))) {
    result.place_of_rank[static_cast<std::size_t>(one)] = machine.place_of(one);
  }
  return result;
}

/// On one node in slots, elsewhere straight: what ranks know of their own row is enough.
Case any_case() {
  if (*rc::gen::arbitrary<bool>().as("one node")) {
    const auto limit = *rc::gen::element<std::string>("64", "512", "16384").as("aggregate");
    return any_case(Machine::uniform(1, *rc::gen::inRange(1, 9).as("ranks")),
                    "sa:aggregate=" + limit);
  }
  const auto straight =
      *rc::gen::element<std::string>("isend", "isend:window=2", "pairwise-ring").as("algorithm");
  return any_case(hierarchy::any_machine(12), straight);
}

/// The ends of the sizes of each kind, by which programs have one shape.
std::vector<std::uint64_t> bounds(std::uint64_t most_staged) {
  std::vector<std::uint64_t> ends = {0, 1, engine::kInlineBytes + 1, 20000, 40000};
  if (most_staged < 20000) ends[3] = most_staged + 1;
  if (ends[3] < ends[2]) std::swap(ends[2], ends[3]);
  return ends;
}

/// Sizes of the given kinds, a number for each block; this rank has as much for itself as from
/// itself. Blocks lie in a row, in any order, with gaps.
Row any_row(const Case& of, const std::vector<int>& kinds) {
  const auto ends = bounds(of.most_staged());
  Row row(2 * of.ranks());
  const auto own = static_cast<std::size_t>(of.rank);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto kind = static_cast<std::size_t>(kinds[i]);
    row[i].bytes = kind == 0 ? 0 : *rc::gen::inRange(ends[kind], ends[kind + 1]);
  }
  row[of.ranks() + own].bytes = row[own].bytes;
  for (const std::size_t side : {std::size_t{0}, of.ranks()}) {
    std::uint64_t end = *rc::gen::inRange<std::uint64_t>(0, 20);
    const bool backwards = *rc::gen::arbitrary<bool>();
    for (std::size_t i = 0; i < of.ranks(); ++i) {
      Block& block = row[side + (backwards ? of.ranks() - 1 - i : i)];
      block.offset = end;
      end += block.bytes + *rc::gen::element<std::uint64_t>(0, 0, 3, 64);
    }
  }
  return row;
}

std::vector<int> any_kinds(const Case& of) {
  auto kinds = *rc::gen::container<std::vector<int>>(2 * of.ranks(), rc::gen::inRange(0, 4));
  const auto own = static_cast<std::size_t>(of.rank);
  kinds[of.ranks() + own] = kinds[own];
  return kinds;
}

RC_GTEST_PROP(RowSteps, MakeTheProgramOfAnyRowOfTheSameKinds, ()) {
  const Case of = any_case();
  const auto kinds = any_kinds(of);
  const Row row = any_row(of, kinds);
  engine::Program program = of.program(row);
  const RowSteps steps = of.steps(program, row);
  RC_ASSERT(steps.serves(row, of.ways(row)));
  for (int turn = 0; turn < 4; ++turn) {
    const Row other = any_row(of, kinds);
    RC_ASSERT(steps.serves(other, of.ways(other)));
    steps.renumber(other, program);
    engine::expect_alike(program, of.program(other));
  }
}

RC_GTEST_PROP(RowSteps, ServeNoRowInWhichABlockComesOrGoes, ()) {
  const Case of = any_case();
  RC_PRE(of.ranks() > 1u);
  auto kinds = any_kinds(of);
  const Row row = any_row(of, kinds);
  const RowSteps steps = of.steps(of.program(row), row);
  const auto changed = *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, 2 * of.ranks()),
                                              static_cast<std::size_t>(of.rank));
  RC_PRE(changed != of.ranks() + static_cast<std::size_t>(of.rank));
  kinds[changed] = kinds[changed] == 0 ? 1 : 0;
  const Row other = any_row(of, kinds);
  RC_ASSERT(!steps.serves(other, of.ways(other)));
}

/// Blocks that go straight, of which some have no bytes now: who is not heard may be behind.
RC_GTEST_PROP(RowSteps, LeaveOutMessagesWithoutBytes, ()) {
  const Case of =
      any_case(Machine::uniform(1, *rc::gen::inRange(2, 7).as("ranks")), "sa:aggregate=64");
  const std::vector<int> straight(2 * of.ranks(), 3);
  const Row row = any_row(of, straight);
  engine::Program program = of.program(row);
  const RowSteps steps = of.steps(program, row);
  Row other = row;
  bool hears_all = true;
  for (std::size_t i = 0; i < other.size(); ++i) {
    const bool is_own = i % of.ranks() == static_cast<std::size_t>(of.rank);
    if (is_own || *rc::gen::arbitrary<bool>()) continue;
    other[i].bytes = 0;
    hears_all &= i < of.ranks();
  }
  RC_ASSERT(steps.renumber(other, program) == (other == row));
  RC_ASSERT(program.hears_all_places() == hears_all);
  for (const engine::Step& step : program.steps()) {
    if (step.kind == plan::OpKind::send) RC_ASSERT(step.deferred == (step.src.bytes() == 0));
    if (step.kind == plan::OpKind::recv) RC_ASSERT(step.deferred == (step.dst.bytes() == 0));
  }
  steps.renumber(row, program);
  engine::expect_alike(program, of.program(row));
}

TEST(RowSteps, ServeNothingWhereBlocksArePassedOn) {
  const auto machine = Machine::uniform(2, 2);
  Case of{machine, 1,
          registry::Algorithm::parse(plan::Collective::alltoallv,
                                     "sa:aggregate=64,between=bruck,slot=64")};
  of.place_of_rank = {0, 1, -1, -1};
  const Row row = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 8}, {8, 8}, {16, 8}, {24, 8}};
  EXPECT_FALSE(of.steps(of.program(row), row).serves(row, of.ways(row)));
  EXPECT_FALSE(RowSteps().serves(row, of.ways(row)));
}

TEST(RowSteps, ServeNoRowWhoseOwnBlocksDiffer) {
  Case of{Machine::uniform(1, 2), 0,
          registry::Algorithm::parse(plan::Collective::alltoallv, "sa:aggregate=512")};
  of.place_of_rank = {0, 1};
  Row row = {{0, 8}, {8, 8}, {0, 8}, {8, 8}};
  const RowSteps steps = of.steps(of.program(row), row);
  EXPECT_TRUE(steps.serves(row, of.ways(row)));
  row[2].bytes = 9;
  EXPECT_FALSE(steps.serves(row, of.ways(row)));
}

}  // namespace
}  // namespace weft::comm::row_steps_test
