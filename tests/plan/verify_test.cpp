// The verifier: correct plans that it accepts, and each flaw in the smallest plans that have it.
#include "plan/verify/verify.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "plan/builder.hpp"
#include "tests/plan/cases.hpp"
#include "tests/plan/draft.hpp"

namespace weft::plan::testing::verify_test {
namespace {

std::vector<Finding> findings_of(const Case& plans, const VerifyOptions& options = {}) {
  return verify(plans.problem, plans.node_of_rank, plans.plans, options);
}

void expect_accepted(const Case& plans) {
  for (const Finding& finding : findings_of(plans)) {
    ADD_FAILURE() << plans.name << " of " << plans.problem.ranks << ": " << to_string(finding);
  }
}

TEST(Verify, AcceptsCorrectPlansOnEveryMachine) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::uint64_t bytes : {1u, 3u, 64u}) {
      for (const std::uint64_t gap : {0u, 5u}) {
        const Problem problem{Collective::alltoall, ranks, bytes, bytes + gap};
        for (int nodes = 1; nodes <= ranks; ++nodes) {
          std::vector<int> interleaved;
          for (int rank = 0; rank < ranks; ++rank) interleaved.push_back(rank % nodes);
          for (auto* generate : {direct, ring, bruck, staged, visiting}) {
            expect_accepted(generate(problem, interleaved));
          }
          if (ranks % nodes != 0) continue;
          expect_accepted(aggregated(problem, interleaved));
          expect_accepted(aggregated(problem, even_nodes(nodes, ranks / nodes)));
        }
      }
    }
  }
}

TEST(Verify, TakesBlocksOfAnySize) {
  const Problem huge = Problem::alltoall(8, 1ull << 50);
  expect_accepted(direct(huge, even_nodes(2, 4)));
  expect_accepted(bruck(huge, even_nodes(2, 4)));
  expect_accepted(aggregated(huge, even_nodes(2, 4)));
}

TEST(Verify, OfNothingExpectsNothing) {
  const Problem nothing = Problem::alltoall(3, 0);
  expect_accepted(direct(nothing, even_nodes(1, 3)));
  Case writes = direct(nothing, even_nodes(1, 3));
  Builder builder(1, 3, 8, 8);
  builder.copy(Slice::contiguous(Space::output, 1, 0, 8), Slice::contiguous(Space::input, 1, 0, 8));
  writes.plans[1] = std::move(builder).finish();
  const auto findings = findings_of(writes);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(to_string(findings[0]),
            "delivery: rank 1: output@1:0+8 was written, expected to be left alone");
}

/// Two ranks of one node that exchange 8-byte blocks; `change` gets rank 0's plan to break, with
/// these lines, and may add lines to rank 1's.
///   0 recv 1 output@0:8+8
///   1 send 1 input@0:8+8
///   2 copy output@0:0+8 <- input@0:0+8
std::string first_finding(const std::function<void(Draft& mine, Draft& other)>& change,
                          std::vector<int> nodes = {0, 0}) {
  Case plans = direct(Problem::alltoall(2, 8), std::move(nodes));
  Draft mine(plans.plans[0]);
  Draft other(plans.plans[1]);
  for (Draft* draft : {&mine, &other}) draft->stage_bytes = draft->scratch_bytes = 64;
  change(mine, other);
  plans.plans[0] = mine.build();
  plans.plans[1] = other.build();
  const auto findings = findings_of(plans);
  return findings.empty() ? "none" : to_string(findings.front());
}

Slice at(Space space, int owner, std::uint64_t offset, std::uint64_t bytes) {
  return Slice::contiguous(space, owner, offset, bytes);
}
Op copy(const Slice& dst, const Slice& src) {
  return {OpKind::copy, Operand::left, -1, dst, src};
}
Op reduce(const Slice& dst, const Slice& src) {
  return {OpKind::reduce, Operand::left, -1, dst, src};
}
Op send(int peer, const Slice& src) {
  return {OpKind::send, Operand::left, peer, {}, src};
}
Op recv(int peer, const Slice& dst) {
  return {OpKind::recv, Operand::left, peer, dst, {}};
}
Op signal(int peer) {
  return {OpKind::signal, Operand::left, peer, {}, {}};
}
Op wait(int peer) {
  return {OpKind::wait, Operand::left, peer, {}, {}};
}

TEST(Verify, ThePlansThatTheFlawsAreShownInAreCorrect) {
  EXPECT_EQ(first_finding([](Draft&, Draft&) {}), "none");
}

TEST(Verify, FindsWrongShapes) {
  const Case good = direct(Problem::alltoall(3, 8), even_nodes(1, 3));
  const auto finding = [&](const std::function<void(Case&)>& change) {
    Case bad = good;
    change(bad);
    const auto findings = findings_of(bad);
    return findings.empty() ? "none" : to_string(findings.front());
  };
  EXPECT_EQ(finding([](Case& c) { c.plans.pop_back(); }),
            "shape: 2 plans and the nodes of 3 ranks, for a problem of 3 ranks");
  EXPECT_EQ(finding([](Case& c) { c.node_of_rank.push_back(0); }),
            "shape: 3 plans and the nodes of 4 ranks, for a problem of 3 ranks");
  EXPECT_EQ(finding([](Case& c) { c.plans[1] = c.plans[2]; }),
            "shape: rank 1: its plan is for rank 2 of 3, expected 1 of 3");
  EXPECT_EQ(finding([](Case& c) { c.problem = Problem::alltoall(3, 9); }),
            "shape: rank 0: its plan has 24 bytes of input, the problem 27");
  EXPECT_EQ(finding([](Case& c) { c.problem.stride = 7; }),
            "shape: stride 7 below the 8 bytes of a block");
  EXPECT_EQ(finding([](Case& c) { c.problem.stride = UINT64_MAX / 2; }),
            "shape: stride 9223372036854775807 x 3 ranks passes 2^62");
  EXPECT_EQ(finding([](Case& c) { c.problem.ranks = 0; }),
            "shape: a problem of 0 ranks: at least 1");
}

TEST(Verify, FindsAccessesThatAreNotAllowed) {
  const auto with = [](const Op& op, std::vector<int> nodes = {0, 0}) {
    return first_finding(
        [&](Draft& mine, Draft&) {
          mine.lines.push_back({op, {}});
        },
        std::move(nodes));
  };
  const Slice scratch = at(Space::scratch, 0, 0, 8);
  EXPECT_EQ(with(copy(scratch, at(Space::input, 0, 9, 8))),
            "bounds: rank 0 op 3: copy scratch@0:0+8 <- input@0:9+8: input@0:9+8 ends at 17, and "
            "the space has 16 bytes");
  EXPECT_EQ(with(copy(scratch, at(Space::input, 2, 0, 8))),
            "bounds: rank 0 op 3: copy scratch@0:0+8 <- input@2:0+8: input@2:0+8 is of no rank "
            "below 2");
  EXPECT_EQ(with(copy(scratch, at(Space::input, 1, 0, 8)), {0, 1}),
            "bounds: rank 0 op 3: copy scratch@0:0+8 <- input@1:0+8: input@1:0+8 is on another "
            "node");
  EXPECT_EQ(with(copy(scratch, at(Space::scratch, 1, 0, 8))),
            "bounds: rank 0 op 3: copy scratch@0:0+8 <- scratch@1:0+8: scratch@1:0+8 is not "
            "shared with this op");
  EXPECT_EQ(with(send(1, at(Space::input, 1, 0, 8))),
            "bounds: rank 0 op 3: send 1 input@1:0+8: input@1:0+8 is not shared with this op");
  EXPECT_EQ(with(recv(1, at(Space::output, 1, 0, 8))),
            "bounds: rank 0 op 3: recv 1 output@1:0+8: output@1:0+8 is not shared with this op");
  EXPECT_EQ(with(recv(1, at(Space::input, 0, 0, 8))),
            "bounds: rank 0 op 3: recv 1 input@0:0+8: input@0:0+8 is written, and inputs are read "
            "only");
  EXPECT_EQ(with(copy(at(Space::scratch, 0, 4, 8), scratch)),
            "bounds: rank 0 op 3: copy scratch@0:4+8 <- scratch@0:0+8: both sides have "
            "scratch@0:4+4");
  EXPECT_EQ(with(signal(1), {0, 1}), "bounds: rank 0 op 3: signal 1: the peer is on another node");
}

TEST(Verify, RefusesMoreBlocksThanItCanHold) {
  const Slice crowd = Slice::strided(Space::scratch, 0, 0, 1, 1ull << 40, 2);
  EXPECT_EQ(
      first_finding([&](Draft& mine, Draft&) {
        mine.scratch_bytes = 1ull << 50;
        mine.lines.push_back({copy(at(Space::scratch, 0, 1ull << 45, crowd.bytes()), crowd), {}});
      }),
      "bounds: the ops touch more than 33554432 blocks: too many to check");
}

TEST(Verify, FindsWhatDoesNotMatch) {
  EXPECT_EQ(first_finding([](Draft& mine, Draft&) { mine.drop(1); }),
            "matching: rank 1 op 0: recv 0 output@1:0+8: rank 0 has no matching send");
  EXPECT_EQ(first_finding([](Draft& mine, Draft&) {
              mine.lines.push_back({signal(1), {}});
            }),
            "matching: rank 0 op 3: signal 1: rank 1 has no matching wait");
  EXPECT_EQ(
      first_finding([](Draft& mine, Draft&) { mine.lines[1].op.src = at(Space::input, 0, 8, 7); }),
      "matching: rank 1 op 0: recv 0 output@1:0+8: expects 8 bytes, but op 1 of rank 0 "
      "sends 7");
}

TEST(Verify, FindsDeadlock) {
  // Both send before they receive: only buffers would save them.
  const auto sends_first = [](Draft& draft) {
    std::swap(draft.lines[0], draft.lines[1]);
    draft.lines[1].after = {0};
  };
  EXPECT_EQ(first_finding([&](Draft& mine, Draft& other) {
              sends_first(mine);
              sends_first(other);
            }),
            "deadlock: rank 0 op 1: under rendezvous: rank 0 op 1 (recv 1 output@0:8+8), before "
            "rank 1 op 0 (send 0 input@1:0+8), before rank 1 op 1 (recv 0 output@1:0+8), before "
            "rank 0 op 0 (send 1 input@0:8+8), before the first again");
  // Both wait for the other's signal: nothing saves them.
  EXPECT_EQ(first_finding([](Draft& mine, Draft& other) {
              mine.lines.push_back({wait(1), {}});
              mine.lines.push_back({signal(1), {3}});
              other.lines.push_back({wait(0), {}});
              other.lines.push_back({signal(0), {3}});
            }).substr(0, 29),
            "deadlock: rank 0 op 4: under ");
}

TEST(Verify, FindsRaces) {
  const Slice scratch = at(Space::scratch, 0, 0, 8);
  EXPECT_EQ(
      first_finding([&](Draft& mine, Draft&) {
        mine.lines.push_back({copy(scratch, at(Space::input, 0, 0, 8)), {}});
        mine.lines.push_back({copy(at(Space::scratch, 0, 16, 4), at(Space::scratch, 0, 4, 4)), {}});
      }),
      "race: rank 0 op 4: copy scratch@0:16+4 <- scratch@0:4+4: touches scratch@0:4+4 at "
      "the same time as op 3 of rank 0 (copy scratch@0:0+8 <- input@0:0+8), expected one to "
      "follow the other");
  // A send reads until it is complete, though its message may have come before.
  EXPECT_EQ(first_finding([&](Draft& mine, Draft& other) {
              mine.lines.push_back({copy(scratch, at(Space::input, 0, 0, 8)), {}});
              mine.lines.push_back({send(1, scratch), {3}});
              mine.lines.push_back({wait(1), {}});
              mine.lines.push_back({copy(scratch, at(Space::input, 0, 8, 8)), {3, 5}});
              other.lines.push_back({recv(0, at(Space::scratch, 1, 0, 8)), {}});
              other.lines.push_back({signal(0), {3}});
            }),
            "race: rank 0 op 6: copy scratch@0:0+8 <- input@0:8+8: touches scratch@0:0+8 at the "
            "same time as op 4 of rank 0 (send 1 scratch@0:0+8), expected one to follow the "
            "other");
}

TEST(Verify, FindsVisitsOutsideACall) {
  const Slice block = at(Space::scratch, 0, 0, 8);
  const auto visit = [&](bool after_begin, bool before_end) {
    return first_finding([&](Draft& mine, Draft& other) {
      mine.lines.push_back({wait(1), {}});
      mine.lines.push_back({copy(block, at(Space::input, 1, 0, 8)), {}});
      mine.lines.push_back({signal(1), {}});
      if (after_begin) mine.lines[4].after = {3};
      if (before_end) mine.lines[5].after = {4};
      other.lines.push_back({signal(0), {}});
      other.lines.push_back({wait(0), {}});
    });
  };
  EXPECT_EQ(visit(true, true), "none");
  EXPECT_EQ(visit(false, true),
            "race: rank 0 op 4: copy scratch@0:0+8 <- input@1:0+8: touches input@1:0+8 when rank "
            "1 may not have begun, expected to follow an op of it");
  EXPECT_EQ(visit(true, false),
            "race: rank 0 op 4: copy scratch@0:0+8 <- input@1:0+8: touches input@1:0+8 when rank "
            "1 may be done, expected an op of it to follow");
}

TEST(Verify, FindsReadsOfWhatNothingHasWritten) {
  EXPECT_EQ(
      first_finding([](Draft& mine, Draft&) {
        mine.lines.push_back({copy(at(Space::scratch, 0, 0, 8), at(Space::stage, 0, 0, 8)), {}});
      }),
      "undefined: rank 0 op 3: copy scratch@0:0+8 <- stage@0:0+8: reads stage@0:0+8, of "
      "which nothing has written 8 bytes");
}

TEST(Verify, FindsWrongDelivery) {
  EXPECT_EQ(first_finding([](Draft& mine, Draft&) { mine.drop(2); }),
            "delivery: rank 0: output@0:0+8 was not written, expected input@0:0+8");
  EXPECT_EQ(
      first_finding([](Draft& mine, Draft&) { mine.lines[1].op.src = at(Space::input, 0, 6, 8); }),
      "delivery: rank 1: output@1:0+8 holds input@0:6+8, expected input@0:8+8");
  EXPECT_EQ(
      first_finding([](Draft& mine, Draft&) {
        mine.output_bytes = 20;
        mine.lines.push_back({copy(at(Space::output, 0, 17, 2), at(Space::input, 0, 0, 2)), {}});
      }),
      "delivery: rank 0: output@0:17+2 was written, expected to be left alone");
}

TEST(Verify, FollowsReductionsInOrder) {
  const Slice sum = at(Space::scratch, 0, 0, 8);
  const auto reduced = [&](std::uint64_t offset, Operand side) {
    return first_finding([&](Draft& mine, Draft&) {
      mine.lines.push_back({copy(sum, at(Space::input, 0, offset, 8)), {}});
      Op op = reduce(sum, at(Space::output, 0, 8, 8));  // received from rank 1
      op.dst_operand = side;
      mine.lines.push_back({op, {0, 3}});
      mine.lines.push_back({copy(at(Space::output, 0, 0, 8), sum), {2, 4}});
    });
  };
  EXPECT_EQ(reduced(0, Operand::left),
            "delivery: rank 0: output@0:0+8 holds input:0+8 reduced over ranks 0,1, expected "
            "input@0:0+8");
  EXPECT_EQ(reduced(0, Operand::right),
            "delivery: rank 0: output@0:0+8 holds input:0+8 reduced over ranks 1,0, expected "
            "input@0:0+8");
  EXPECT_EQ(reduced(8, Operand::left),
            "delivery: rank 0 op 4: reduce scratch@0:0+8 <- left output@0:8+8: reduces bytes of "
            "different offsets, expected the same of each input");
}

TEST(Verify, StopsAtItsLimit) {
  Case plans = direct(Problem::alltoall(6, 8), even_nodes(1, 6));
  for (Plan& plan : plans.plans) {
    Draft draft(plan);
    draft.lines.pop_back();
    plan = draft.build();
  }
  EXPECT_EQ(findings_of(plans).size(), 6u);
  EXPECT_EQ(findings_of(plans, {{{true, 0}}, 2}).size(), 2u);
  EXPECT_EQ(findings_of(plans, {{{true, 0}}, 0}).size(), 1u);
}

}  // namespace
}  // namespace weft::plan::testing::verify_test
