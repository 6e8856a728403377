// Sequences: which programs have one, and that it has all of their steps in list order.
#include "engine/program/sequence.hpp"
#include "registry/algorithm.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace weft::engine::sequence_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using Kind = Action::Kind;

Program program_of(Collective collective, const std::string& algorithm, int ranks, int rank,
                   std::uint64_t bytes) {
  const auto machine = Machine::uniform(1, ranks);
  plan::Problem problem;
  problem.collective = collective;
  problem.ranks = ranks;
  problem.block_bytes = problem.stride = bytes;
  problem.element_bytes = 8;
  const auto made = registry::Algorithm::parse(collective, algorithm);
  std::vector<plan::Plan> plans;
  std::vector<int> places(static_cast<std::size_t>(ranks));
  std::iota(places.begin(), places.end(), 0);
  for (const int one : places) plans.push_back(made.plan(problem, machine, one));
  return Program(plans[static_cast<std::size_t>(rank)], places, ranks,
                 find_inline_messages(plans, rank));
}

constexpr std::uint64_t kMost = 1000;  // bytes of a message

Sequence sequence_of(const Program& program, std::uint64_t most_message_bytes = kMost) {
  Sequence sequence;
  sequence.assign(program, most_message_bytes);
  return sequence;
}

RC_GTEST_PROP(Sequence, HasTheStepsOfSmallCallsInListOrder, ()) {
  const std::vector<std::pair<Collective, std::string>> calls = {
      {Collective::alltoall, "sa"},        {Collective::allgather, "leader"},
      {Collective::allreduce, "everyone"}, {Collective::broadcast, "leader"},
      {Collective::gather, "leader"},      {Collective::scatter, "leader"},
      {Collective::gather, "binomial"},    {Collective::scatter, "sequential"}};
  const auto [collective, algorithm] = calls[*rc::gen::inRange<std::size_t>(0, calls.size())];
  const int ranks = *rc::gen::inRange(2, 9).as("ranks");
  const int rank = *rc::gen::inRange(0, ranks).as("rank");
  const auto bytes = 8 * *rc::gen::inRange<std::uint64_t>(1, 31).as("words");
  const Program program = program_of(collective, algorithm, ranks, rank, bytes);
  const Sequence sequence = sequence_of(program);
  RC_ASSERT(!sequence.empty());
  std::size_t at = 0;
  Counts counted;
  for (std::uint32_t id = 0; id < program.steps().size(); ++id) {
    const Step& step = program.steps()[id];
    if (step.deferred) continue;
    RC_ASSERT(at < sequence.actions().size());
    const Action& action = sequence.actions()[at++];
    RC_ASSERT(action.step == id);
    RC_ASSERT(action.bytes == step.src.bytes());
    if (step.kind == plan::OpKind::wait) {
      RC_ASSERT(action.kind == (step.is_inline ? Kind::await_message : Kind::await_signal));
    }
    if (step.kind == plan::OpKind::signal) {
      RC_ASSERT(action.kind == (step.is_inline ? Kind::send : Kind::signal));
      counted.inline_out += step.is_inline ? 1 : 0;
    }
    if (step.kind == plan::OpKind::send) RC_ASSERT(action.kind == Kind::send_over);
    if (step.kind == plan::OpKind::recv) RC_ASSERT(action.kind == Kind::receive_over);
  }
  RC_ASSERT(at == sequence.actions().size());
  for (const Sequence::Change& change : sequence.changes()) {
    counted.inline_out -= change.counts.inline_out;
  }
  RC_ASSERT(counted.inline_out == 0u);
}

TEST(Sequence, OfAllreduceSendsFirst) {
  const Program program = program_of(Collective::allreduce, "everyone", 4, 1, 8);
  const Sequence sequence = sequence_of(program);
  ASSERT_GT(sequence.actions().size(), 3u);
  for (const Action& action : sequence.actions().first(3)) EXPECT_EQ(action.kind, Kind::send);
}

TEST(Sequence, IsNotMadeOfProgramsThatNeedMore) {
  // Neighbours' buffers, and vectors so long that their reductions are folds.
  EXPECT_TRUE(sequence_of(program_of(Collective::alltoall, "sa:direct=1", 4, 0, 4096)).empty());
  EXPECT_TRUE(sequence_of(program_of(Collective::allreduce, "everyone", 4, 0, 8192)).empty());
}

TEST(Sequence, BecomesThatOfAnotherProgram) {
  Sequence sequence = sequence_of(program_of(Collective::allreduce, "everyone", 4, 0, 8));
  sequence.assign(program_of(Collective::allreduce, "everyone", 4, 0, 8192), kMost);
  EXPECT_TRUE(sequence.empty());
  EXPECT_TRUE(sequence.changes().empty());
}

TEST(Sequence, HasMessagesThatCanBeMovedAtOnce) {
  const auto of = [](std::uint64_t bytes) {
    return program_of(Collective::scatter, "sequential", 4, 0, bytes);
  };
  EXPECT_EQ(std::ranges::count(sequence_of(of(kMost)).actions(), Kind::send_over, &Action::kind),
            3);
  EXPECT_TRUE(sequence_of(of(kMost + 8)).empty());
  EXPECT_TRUE(sequence_of(of(8), 0).empty());
  Sequence sequence = sequence_of(of(8));
  sequence.renumber(of(kMost + 8), kMost);
  EXPECT_TRUE(sequence.empty());
  sequence.renumber(of(kMost), kMost);
  EXPECT_FALSE(sequence.empty());
}

}  // namespace
}  // namespace weft::engine::sequence_test
