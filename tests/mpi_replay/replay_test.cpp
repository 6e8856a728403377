// Replay of recordings: calls of ranks matched, scaled, simulated and run again.
#include "mpi/replay/replay.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "made_recording.hpp"
#include "mpi/replay/matching.hpp"
#include "nic_profiles/profile.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::mpi::replay_test {
namespace {

using plan::Collective;
using test::MadeProgram;

std::uint64_t below(std::uint64_t most) {
  return *rc::gen::inRange<std::uint64_t>(0, most);
}

Target target_on(const std::string& machine, Scaling scaling = Scaling::none) {
  return {.machine = hierarchy::Machine::parse(machine),
          .adapter = "connectx-6",
          .hardware = nic_profiles::load("connectx-6").hardware,
          .scaling = scaling};
}

/// What the simulator says of a call of all ranks.
std::uint64_t simulated_ns(const RecordedKind& kind, const Target& target) {
  plan::Problem problem{.collective = kind.collective,
                        .ranks = target.machine.ranks(),
                        .block_bytes = kind.bytes,
                        .stride = kind.bytes,
                        .element_bytes = kind.element_bytes};
  const tune::Facts facts{target.machine};
  return static_cast<std::uint64_t>(
      std::llround(tune::choose(problem, facts, target.hardware).front().time_ns));
}

RecordedKind kind_of(Collective collective, std::uint64_t bytes, std::uint32_t element = 1) {
  return {.collective = collective, .element_bytes = element, .bytes = bytes};
}

std::vector<RecordedKind> all_wait_kinds() {
  return {kind_of(Collective::alltoall, 64), kind_of(Collective::alltoall, 4096),
          kind_of(Collective::allreduce, 1024, 8), kind_of(Collective::allgather, 256),
          kind_of(Collective::barrier, 0)};
}

std::vector<std::uint64_t> draw_work(int ranks) {
  std::vector<std::uint64_t> work(static_cast<std::size_t>(ranks));
  for (auto& one : work) one = below(200'000);
  return work;
}

bool is_near(double a, double b, double by = 1e-3) {
  return std::abs(a - b) <= by * std::max({1e-9, std::abs(a), std::abs(b)});
}

// A program whose collectives take what the simulator says comes out as it was recorded.
RC_GTEST_PROP(Replay, OfWhatTheSimulatorSaysIsWhatWasMeasured, ()) {
  const Target target = target_on("2x2");
  MadeProgram program(4, "2x2");
  double waiting = 0;
  const auto kinds = all_wait_kinds();
  std::set<std::size_t> used;
  for (auto left = 1 + below(30); left > 0; --left) {
    const auto work = draw_work(4);
    program.work(work);
    const auto most = *std::ranges::max_element(work);
    for (const auto one : work) waiting += static_cast<double>(most - one) / 4 * 1e-9;
    const auto which = static_cast<std::size_t>(below(kinds.size()));
    used.insert(which);
    program.call(kinds[which], simulated_ns(kinds[which], target));
  }
  const Recording recording = program.finish();
  const Replay found = replay(recording, target);
  RC_ASSERT(is_near(found.measured.calls, found.predicted.calls));
  RC_ASSERT(is_near(found.measured.run, found.predicted.run));
  RC_ASSERT(is_near(found.measured.waiting, waiting));
  RC_ASSERT(is_near(found.predicted.waiting, waiting));
  RC_ASSERT(found.calls.size() == used.size());
  RC_ASSERT(found.simulations == used.size());
  double calls = 0;
  for (const ReplayedCalls& one : found.calls) {
    calls += one.calls;
    RC_ASSERT(std::ranges::count(one.choices, true, &Choice::taken) == 1);
  }
  RC_ASSERT(is_near(calls, static_cast<double>(recording.parts.front().calls.size())));
}

// Ranks whose calls take longer than was recorded take longer by so much, and not more, where they
// come together; and the program's own work stays.
RC_GTEST_PROP(Replay, ASlowerNetworkTakesThatLonger, ()) {
  const Target target = target_on("2x2");
  const auto kind = kind_of(Collective::alltoall, 4096);
  const std::uint64_t time = simulated_ns(kind, target);
  MadeProgram program(4, "2x2");
  const auto calls = 1 + below(20);
  for (auto left = calls; left > 0; --left) {
    program.work({500, 500, 500, 500});
    program.call(kind, time / 3);
  }
  const Replay found = replay(program.finish(), target);
  RC_ASSERT(is_near(found.predicted.calls, static_cast<double>(calls * time) * 1e-9));
  RC_ASSERT(found.predicted.waiting < 1e-9);
  RC_ASSERT(is_near(found.predicted.work, found.measured.work));
}

// Clocks of another node that are off by so much do not look like waiting.
RC_GTEST_PROP(Replay, ClocksOfNodesAreSetByTheCalls, ()) {
  const Target target = target_on("2x2");
  MadeProgram program(4, "2x2");
  for (int i = 0; i < 40; ++i) {
    // Each rank is the last one at times.
    std::vector<std::uint64_t> work(4, 1000);
    work[static_cast<std::size_t>(i % 4)] = 30'000;
    program.work(work);
    program.call(kind_of(Collective::barrier, 0), 2000);
  }
  Recording recording = program.finish();
  const Replay right = replay(recording, target);
  const std::uint64_t off = below(50'000'000);
  for (RankRecording& part : recording.parts) {
    if (part.rank < 2) continue;
    part.first.real_ns += off;
    part.last.real_ns += off;
  }
  const Replay shifted = replay(recording, target);
  // At most what a barrier takes, a call.
  RC_ASSERT(std::abs(shifted.measured.waiting - right.measured.waiting) <= 40 * 2.001e-6);
}

// On one node weft chooses by fixed rules, whatever the simulator says.
TEST(Replay, CountsWhatWeftTakes) {
  const Target target = target_on("1x2");
  MadeProgram program(2, "1x2");
  program.call(kind_of(Collective::alltoall, 1 << 20), 1000);
  const Replay found = replay(program.finish(), target);
  ASSERT_EQ(found.calls.size(), 1u);
  const Choice* const taken = found.calls.front().taken();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->algorithm, "sa");
  EXPECT_GT(taken->seconds, found.calls.front().choices.front().seconds);
  EXPECT_NEAR(found.predicted.calls, taken->seconds, 1e-9);
}

TEST(Replay, CallsThatAreCountedOnlyTakeWhatTheOthersDo) {
  const Target target = target_on("2x2");
  const auto kind = kind_of(Collective::alltoall, 64);
  MadeProgram program(4, "2x2");
  for (int i = 0; i < 10; ++i) program.call(kind, simulated_ns(kind, target));
  Recording recording = program.finish();
  const Replay once = replay(recording, target);
  for (RankRecording& part : recording.parts) {
    part.sums.front().calls *= 5;
    part.sums.front().ticks *= 5;
    part.calls_left_out = 40;
  }
  const Replay found = replay(recording, target);
  EXPECT_NEAR(found.predicted.calls, 5 * once.predicted.calls, 1e-9);
  EXPECT_NEAR(found.measured.calls, 5 * once.measured.calls, 1e-9);
  EXPECT_NEAR(found.calls.front().calls, 50, 1e-9);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes.front().find("160 calls were counted"), std::string::npos);
}

TEST(Replay, OfARankThatIsMissingTheOthersAreThere) {
  const Target target = target_on("2x2");
  MadeProgram program(4, "2x2");
  for (int i = 0; i < 10; ++i) {
    program.work({100, 200, 300, 400});
    program.call(kind_of(Collective::alltoall, 64), 1000);
  }
  Recording recording = program.finish();
  recording.parts.pop_back();
  recording.parts.front().ended = false;
  recording.parts.front().calls.resize(5);
  const Replay found = replay(recording, target);
  EXPECT_GT(found.predicted.calls, 0);
  EXPECT_NE(found.notes.front().find("2 of 4 ranks"), std::string::npos);
}

TEST(Replay, WaitsAsTheCollectiveDoes) {
  const std::vector<std::uint32_t> members = {0, 1, 2, 3};
  const std::vector<double> arrivals = {5, 9, 1, 7};
  const auto come = [&](Collective collective, std::uint32_t root = 0) {
    RecordedKind kind{.collective = collective};
    kind.root = root;
    return last_arrivals(kind, members, arrivals);
  };
  using List = std::vector<double>;
  EXPECT_EQ(come(Collective::allreduce), (List{9, 9, 9, 9}));
  EXPECT_EQ(come(Collective::broadcast, 3), (List{7, 9, 7, 7}));
  EXPECT_EQ(come(Collective::scatter, 2), (List{5, 9, 1, 7}));
  EXPECT_EQ(come(Collective::reduce, 2), (List{5, 9, 9, 7}));
  EXPECT_EQ(come(Collective::gather, 0), (List{9, 9, 1, 7}));
  EXPECT_EQ(come(Collective::scan), (List{5, 9, 9, 9}));
}

TEST(Replay, TellsCommunicatorsOfTheSameRanksApart) {
  // Two communicators of two ranks with the same number, one after the other: the second rank does
  // not call on the first of them for a last time.
  Recording recording;
  recording.ranks = 2;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankRecording& part = recording.parts.emplace_back();
    part.rank = rank;
    part.first = {0, 1};
    part.last = {1000, 1001};
    for (std::uint32_t which = 0; which < 2; ++which) {
      part.communicators.push_back({.digest = 3, .ranks = 2, .rank = rank, .members = {}});
      part.kinds.push_back({.communicator = which});
    }
    part.sums.resize(2);
    if (rank == 0) part.calls.push_back({0, 10, 1});
    part.calls.push_back({1, 20, 1});
  }
  const Matched matched = match(recording, {0, 0});
  ASSERT_EQ(matched.meetings.size(), 2u);
  EXPECT_EQ(matched.meetings[0].count, 1u);
  EXPECT_EQ(matched.meetings[1].count, 2u);
}

TEST(Scaling, BytesFollowTheTable) {
  const auto there = [](Collective collective, Scaling scaling, std::uint64_t element = 1) {
    return bytes_there(collective, 4096, element, 8, 32, scaling);
  };
  EXPECT_EQ(there(Collective::alltoall, Scaling::weak), 1024u);
  EXPECT_EQ(there(Collective::alltoall, Scaling::strong), 256u);
  EXPECT_EQ(there(Collective::alltoallv, Scaling::strong), 256u);
  EXPECT_EQ(there(Collective::allgather, Scaling::weak), 4096u);
  EXPECT_EQ(there(Collective::allgather, Scaling::strong), 1024u);
  EXPECT_EQ(there(Collective::gather, Scaling::strong), 1024u);
  EXPECT_EQ(there(Collective::scatter, Scaling::weak), 4096u);
  EXPECT_EQ(there(Collective::reduce_scatter, Scaling::weak), 1024u);
  EXPECT_EQ(there(Collective::reduce_scatter, Scaling::strong, 1000), 1000u);
  for (const Collective collective :
       {Collective::broadcast, Collective::reduce, Collective::allreduce, Collective::scan}) {
    EXPECT_EQ(there(collective, Scaling::weak), 4096u);
    EXPECT_EQ(there(collective, Scaling::strong), 4096u);
  }
  EXPECT_EQ(there(Collective::alltoall, Scaling::none), 4096u);
  EXPECT_EQ(bytes_there(Collective::alltoall, 1, 1, 8, 3200, Scaling::strong), 1u);
  EXPECT_EQ(bytes_there(Collective::alltoall, 0, 1, 8, 32, Scaling::strong), 0u);
  EXPECT_EQ(work_there(8, 32, Scaling::strong), 0.25);
  EXPECT_EQ(work_there(8, 32, Scaling::weak), 1);
}

TEST(Scaling, CommunicatorsKeepTheirPart) {
  const auto here = hierarchy::Machine::parse("4x4"), there = hierarchy::Machine::parse("16x8");
  const auto members = [&](std::uint32_t ranks, std::uint32_t nodes, std::uint32_t stride) {
    RecordedCommunicator one;
    one.ranks = ranks;
    one.nodes = nodes;
    one.members = {{0, stride, ranks}};
    return members_there(one, here, there);
  };
  EXPECT_EQ(members(16, 4, 1).size(), 128u);
  EXPECT_EQ(members(4, 1, 1).size(), 8u);  // a node
  EXPECT_EQ(there.view(members(4, 1, 1)).nodes(), 1);
  EXPECT_EQ(members(2, 1, 1).size(), 4u);   // half of a node
  EXPECT_EQ(members(8, 2, 1).size(), 64u);  // half of the job
  EXPECT_EQ(there.view(members(8, 2, 1)).nodes(), 8);
  const auto column = members(4, 4, 4);
  EXPECT_EQ(column.size(), 32u);
  EXPECT_EQ(column[1], 4);
  EXPECT_EQ(members(2, 2, 8).size(), 16u);
}

RC_GTEST_PROP(Scaling, MembersAreRanksThere, ()) {
  const auto here =
      hierarchy::Machine::uniform(1 + static_cast<int>(below(4)), 1 + static_cast<int>(below(4)));
  const auto there =
      hierarchy::Machine::uniform(1 + static_cast<int>(below(9)), 1 + static_cast<int>(below(9)));
  RecordedCommunicator one;
  one.ranks = 1 + static_cast<std::uint32_t>(below(static_cast<std::uint64_t>(here.ranks())));
  one.nodes = static_cast<std::uint32_t>(below(one.ranks + 1));
  one.members = {{0, 1 + static_cast<std::uint32_t>(below(4)), one.ranks}};
  const auto members = members_there(one, here, there);
  RC_ASSERT(!members.empty());
  RC_ASSERT(std::ranges::adjacent_find(members, std::greater_equal{}) == members.end());
  RC_ASSERT(members.front() >= 0 && members.back() < there.ranks());
}

TEST(Replay, OnALargerMachineScalesAndShows) {
  const Target target = target_on("8x8", Scaling::strong);
  MadeProgram program(4, "2x2");
  for (int i = 0; i < 5; ++i) {
    program.work({100'000, 200'000, 300'000, 400'000});
    program.call(kind_of(Collective::alltoall, 64 << 10), 1000);
    program.call(kind_of(Collective::allreduce, 1024, 8), 1000);
  }
  const Replay found = replay(program.finish(), target);
  EXPECT_NEAR(found.predicted.work, found.measured.work / 16, 1e-9);
  const auto alltoall = std::ranges::find(found.calls, "alltoall", &ReplayedCalls::collective);
  ASSERT_NE(alltoall, found.calls.end());
  EXPECT_EQ(alltoall->bytes_there, (64u << 10) / 256);
  EXPECT_EQ(alltoall->there, (Shape{64, 8}));
  EXPECT_GT(alltoall->choices.size(), 3u);
  EXPECT_EQ(found.timeline.size(), 4u);
  const std::string table = to_table(found), page = to_html(found);
  for (const char* words : {"Strong scaling", "waiting for late ranks", "64 on 8", "alltoall"}) {
    EXPECT_NE(table.find(words), std::string::npos) << words;
  }
  for (const char* words : {"<svg", "Timeline", "rank 3", "Choices", "simulated"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace weft::mpi::replay_test
