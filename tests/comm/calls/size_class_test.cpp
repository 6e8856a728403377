// Size classes: what is agreed for the largest size of a class serves every other one.
#include "comm/calls/size_class.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "hierarchy/machine.hpp"
#include "registry/variants.hpp"
#include "tune/decision_table.hpp"

namespace weft::comm::size_class_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using plan::Problem;
using registry::Algorithm;

/// What a rank's plan needs of others, or has in common with them. Scratch memory is its own.
struct Needs {
  std::uint64_t stage_bytes = 0;
  std::set<int> peers;
  bool reads_peers = false;
};

Needs needs_of(const plan::Plan& plan) {
  Needs needs{plan.stage_bytes(), {}, false};
  for (const plan::Op& op : plan.ops()) {
    if (op.kind == plan::OpKind::send || op.kind == plan::OpKind::recv) needs.peers.insert(op.peer);
    for (const plan::Slice& slice : {op.src, op.dst}) {
      const bool is_buffer =
          slice.space == plan::Space::input || slice.space == plan::Space::output;
      needs.reads_peers |= is_buffer && !slice.empty() && slice.owner != plan.rank();
    }
  }
  return needs;
}

std::vector<Needs> needs_of_all(const Algorithm& algorithm, const Problem& problem,
                                const Machine& machine) {
  std::vector<Needs> all;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    all.push_back(needs_of(algorithm.plan(problem, machine, rank)));
  }
  return all;
}

/// Whether what all ranks have agreed on for `large` serves `small`; "": it does.
std::string flaw(const std::vector<Needs>& large, const std::vector<Needs>& small) {
  std::uint64_t stages = 0;
  bool reads_peers = false;
  for (const Needs& one : large) {
    stages = std::max(stages, one.stage_bytes);
    reads_peers |= one.reads_peers;
  }
  for (std::size_t rank = 0; rank < small.size(); ++rank) {
    const Needs& has = large[rank];
    const Needs& wants = small[rank];
    if (wants.stage_bytes > stages) {
      return fmt::format("rank {}: stage of {} > {}", rank, wants.stage_bytes, stages);
    }
    if (!std::ranges::includes(has.peers, wants.peers)) {
      return fmt::format("rank {}: another peer", rank);
    }
    if (wants.reads_peers && !reads_peers) return fmt::format("rank {}: reads peers", rank);
  }
  return "";
}

Problem problem_of(Collective collective, const Machine& machine, std::uint64_t element,
                   std::uint64_t elements) {
  Problem problem = Problem::alltoall(machine.ranks(), element * elements);
  problem.collective = collective;
  if (is_reduction(collective)) problem.element_bytes = element;
  if (is_rooted(collective)) problem.root = machine.ranks() - 1;
  return problem;
}

constexpr int kDraws = 3;

class SizeClasses : public testing::TestWithParam<Collective> {};

TEST_P(SizeClasses, NeedNoMoreForLess) {
  const Collective collective = GetParam();
  std::mt19937 random(static_cast<unsigned>(collective) + 1);
  for (const char* text :
       {"1x2", "1x3", "1x5", "1x8", "3x1", "8x1", "2x2", "2x3", "1+3+2", "0,1,1,0,2", "2x4/2"}) {
    const Machine machine = Machine::parse(text);
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::uint64_t element = std::array{1, 2, 8, 12, 24}[random() % 5];
      const std::uint64_t about = std::uint64_t{1} << random() % 18;
      const std::uint64_t elements =
          std::max<std::uint64_t>(1, (about / 2 + random() % about) / element);
      Problem problem = problem_of(collective, machine, element, elements);
      problem.commutative = random() % 4 != 0;
      problem.in_place = collective == Collective::alltoall && random() % 2 == 0;
      const Problem largest = largest_of_bucket(problem);
      ASSERT_GE(largest.block_bytes, problem.block_bytes);
      ASSERT_EQ(bucket_of(largest), bucket_of(problem));
      for (const Algorithm& algorithm : registry::variants(collective, machine.ranks())) {
        if (!serves_smaller(algorithm) || algorithm.refusal(largest, machine)) continue;
        ASSERT_FALSE(algorithm.refusal(problem, machine)) << algorithm.name();
        const auto agreed = needs_of_all(algorithm, largest, machine);
        EXPECT_EQ(flaw(agreed, needs_of_all(algorithm, problem, machine)), "")
            << algorithm.name() << " on " << text << ", " << problem.block_bytes << " bytes of "
            << largest.block_bytes << " in elements of " << problem.element_bytes;
      }
    }
  }
}

// Calls whose blocks differ are of the class of their largest.
TEST_P(SizeClasses, NeedNoMoreForBlocksThatDiffer) {
  const Collective collective = GetParam();
  if (collective != Collective::allgather && collective != Collective::reduce_scatter) return;
  std::mt19937 random(static_cast<unsigned>(collective) + 50);
  for (const char* text :
       {"1x2", "1x3", "1x5", "1x8", "3x1", "8x1", "2x2", "2x3", "1+3+2", "0,1,1,0,2", "2x4/2"}) {
    const Machine machine = Machine::parse(text);
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::uint64_t element = std::array{1, 2, 8, 12, 24}[random() % 5];
      const std::uint64_t about = (std::uint64_t{1} << random() % 14) + element;
      Problem problem = problem_of(collective, machine, element, 0);
      problem.commutative = random() % 4 != 0;
      std::uint64_t end = 0;
      for (int rank = 0; rank < machine.ranks(); ++rank) {
        const bool is_there = rank == 0 || random() % 3 != 0;
        const std::uint64_t bytes = is_there ? (1 + random() % (about / element)) * element : 0;
        problem.layout.push_back({end, bytes});
        end += bytes + (random() % 4 == 0 ? element : 0);
      }
      const Problem largest = largest_of_bucket(problem);
      ASSERT_TRUE(largest.layout.empty());
      ASSERT_EQ(bucket_of(largest).most_bytes, bucket_of(problem).most_bytes);
      for (const Algorithm& algorithm : registry::variants(collective, machine.ranks())) {
        if (!serves_smaller(algorithm) || algorithm.refusal(largest, machine)) continue;
        ASSERT_FALSE(algorithm.refusal(problem, machine)) << algorithm.name();
        const auto agreed = needs_of_all(algorithm, largest, machine);
        EXPECT_EQ(flaw(agreed, needs_of_all(algorithm, problem, machine)), "")
            << algorithm.name() << " on " << text << ", blocks of up to " << largest.block_bytes;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, SizeClasses,
                         testing::Values(Collective::alltoall, Collective::broadcast,
                                         Collective::scatter, Collective::gather,
                                         Collective::allgather, Collective::barrier,
                                         Collective::reduce, Collective::allreduce,
                                         Collective::reduce_scatter, Collective::scan,
                                         Collective::exscan),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(SizeClasses, PartsOfABucketAreThoseOfTheGridOfChoices) {
  for (std::uint64_t bytes = 1; bytes < 70'000; ++bytes) {
    const Problem problem = Problem::alltoall(2, bytes);
    const Bucket bucket = bucket_of(problem);
    ASSERT_TRUE(bytes <= bucket.most_bytes && bytes > bucket.most_bytes / 2) << bytes;
    const Problem next = Problem::alltoall(2, bytes + 1);
    if (bucket_of(next) != bucket || part_of(next, false) != part_of(problem, false)) {
      continue;
    }
    ASSERT_EQ(tune::grid_bytes(bytes), tune::grid_bytes(bytes + 1)) << bytes;
  }
}

TEST(SizeClasses, PartsUnderATableAreQuartersOfABucket) {
  for (std::uint64_t first = 1; first < 70'000;) {
    const Problem problem = Problem::alltoall(2, first);
    const std::size_t part = part_of(problem, true);
    ASSERT_LT(part, kParts);
    std::uint64_t last = first;
    const auto is_same = [&](const Problem& next) {
      return bucket_of(next) == bucket_of(problem) && part_of(next, true) == part;
    };
    while (is_same(Problem::alltoall(2, last + 1))) ++last;
    ASSERT_LT(static_cast<double>(last), 1.19 * static_cast<double>(first)) << first;
    first = last + 1;
  }
}

}  // namespace
}  // namespace weft::comm::size_class_test
