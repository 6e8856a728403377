// Alltoall through the public API, ranks as threads: every algorithm, placement and size class
// gives what MPI says, and touches nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "hierarchy/machine.hpp"
#include "kernels/operation.hpp"
#include "registry/variants.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/sanitized.hpp"

namespace weft::alltoall_test {
namespace {

using test::none;
using test::run_ranks;

/// Byte `at` of the block from one rank to another in one call.
std::byte expected(int from, int to, std::size_t at, int call) {
  return static_cast<std::byte>(from * 131 + to * 31 + static_cast<int>(at) * 7 + call * 17);
}

void exchange_and_compare(Communicator& comm, std::size_t block, int call, bool in_place) {
  constexpr std::size_t kGuard = 64;
  const std::byte guard{0xa5};
  const std::size_t bytes = block * comm.size();
  std::vector<std::byte> input(bytes);
  std::vector<std::byte> output(bytes + 2 * kGuard, guard);
  for (int to = 0; to < comm.size(); ++to) {
    for (std::size_t at = 0; at < block; ++at) {
      input[to * block + at] = expected(comm.rank(), to, at, call);
    }
  }
  const auto untouched = input;
  if (in_place) {
    std::copy(input.begin(), input.end(), output.begin() + kGuard);
    comm.alltoall(output.data() + kGuard, output.data() + kGuard, block);
  } else {
    comm.alltoall(input.data(), output.data() + kGuard, block);
  }
  ASSERT_EQ(input, untouched);
  std::vector<std::byte> right(bytes + 2 * kGuard, guard);
  for (int from = 0; from < comm.size(); ++from) {
    for (std::size_t at = 0; at < block; ++at) {
      right[kGuard + from * block + at] = expected(from, comm.rank(), at, call);
    }
  }
  const auto wrong = std::mismatch(output.begin(), output.end(), right.begin()).first;
  ASSERT_EQ(wrong, output.end()) << "rank " << comm.rank() << ", blocks of " << block
                                 << " bytes, first wrong at "
                                 << (wrong - output.begin()) - static_cast<std::ptrdiff_t>(kGuard);
}

Options on(const char* machine, std::string algorithm = "") {
  Options options = test::on(machine);
  if (!algorithm.empty()) options.algorithms["alltoall"] = std::move(algorithm);
  return options;
}

constexpr const char* kMachines[] = {"1x1", "1x2", "1x3",       "1x5",        "2x1",
                                     "2x2", "1+3", "0,1,0,1,2", "3x2:cyclic", "4x1"};

class EveryPlacement : public testing::TestWithParam<const char*> {};

TEST_P(EveryPlacement, EveryAlgorithmGivesTheRightAnswer) {
  const char* machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  for (const auto& algorithm : test::part_of(registry::variants(plan::Collective::alltoall, ranks),
                                             ranks, machine, kMachines)) {
    const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
      Communicator comm(std::move(bootstrap), on(machine, algorithm.name()));
      int call = 0;
      for (const std::size_t block : {1u, 8u, 200u, 8u, 5000u}) {
        exchange_and_compare(comm, block, ++call, false);
        exchange_and_compare(comm, block, ++call, true);
      }
      EXPECT_EQ(test::other_than(algorithm.name(), "alltoall", comm), "");
    });
    ASSERT_EQ(errors, none(ranks)) << algorithm.name() << " on " << machine;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, EveryPlacement, testing::ValuesIn(kMachines));

class EverySize : public testing::TestWithParam<const char*> {};

TEST_P(EverySize, TheChosenAlgorithmGivesTheRightAnswer) {
  const char* machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine));
    int call = 0;
    for (const std::size_t block : {0u, 1u, 3u, 64u, 1000u, 4096u, 20000u, 70000u, 1000000u}) {
      for (int repeat = 0; repeat < 3; ++repeat)
        exchange_and_compare(comm, block, ++call, repeat == 1);
    }
  });
  EXPECT_EQ(errors, none(ranks));
}

INSTANTIATE_TEST_SUITE_P(Machines, EverySize,
                         testing::Values("1x1", "1x4", "2x2", "1+3+2", "0,1,1,0"));

TEST(Alltoall, ManyCallsBackToBackKeepStagesApart) {
  constexpr int kRanks = 4;
  for (const char* algorithm : {"sa", "leader", "rd", "leader:leaders=2"}) {
    const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
      Communicator comm(std::move(bootstrap), on("1x4", algorithm));
      std::mt19937 random(static_cast<unsigned>(rank));
      for (int call = 0; call < 300; ++call) {
        // One rank dawdles now and then, so that the others run ahead as far as they may.
        if (random() % 16 == 0) std::this_thread::yield();
        exchange_and_compare(comm, 8 + static_cast<std::size_t>(call % 3) * 24, call, false);
      }
      EXPECT_EQ(test::other_than(algorithm, "alltoall", comm), "");
    });
    ASSERT_EQ(errors, none(kRanks)) << algorithm;
  }
}

TEST(Alltoall, RanksThatDisagreeAllGetTheSameError) {
  const auto errors = run_ranks(3, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x3"));
    std::vector<std::byte> buffer(96);
    comm.alltoall(buffer.data(), buffer.data(), rank == 2 ? 16 : 32);
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error,
              "ranks disagree: alltoall of 32 bytes on rank 0, alltoall of 16 bytes on rank 2");
  }
}

TEST(Alltoall, OverlappingAndUnequalBuffersAreRefused) {
  const auto errors = run_ranks(1, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x1"));
    std::vector<std::byte> buffer(12);
    EXPECT_THROW(comm.alltoall(buffer.data(), buffer.data() + 4, 8), UsageError);
    std::array<int, 1> one{};
    EXPECT_THROW(comm.alltoall(std::span<const int>(), std::span<int>(one)), UsageError);
  });
  EXPECT_EQ(errors, none(1));
}

// Products that wrapped around would make calls of a few bytes of them.
TEST(Alltoall, AndOthersOfMoreBytesThanThereAreAddressesAreRefused) {
  const auto errors = run_ranks(2, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x2"));
    std::array<double, 4> in{}, out{};
    constexpr std::size_t kHuge = (std::size_t{1} << 61) + 2;
    const Operation sum = operation(Operator::sum, Type::float64);
    EXPECT_THROW(comm.allreduce(in.data(), out.data(), kHuge, sum), UsageError);
    EXPECT_THROW(comm.alltoall(in.data(), out.data(), (std::size_t{1} << 63) + 8), UsageError);
    EXPECT_THROW(comm.allgather(in.data(), out.data(), std::size_t{1} << 63), UsageError);
    const std::array<std::size_t, 2> elements = {1, kHuge};
    EXPECT_THROW(comm.reduce_scatter(in.data(), out.data(), elements, sum), UsageError);
    const std::array<std::size_t, 2> together = {1, (std::size_t{1} << 60) - 1};
    EXPECT_THROW(comm.reduce_scatter(in.data(), out.data(), together, sum), UsageError);
    comm.barrier();
    in[0] = rank + 1;
    comm.allreduce(in.data(), out.data(), 1, sum);
    EXPECT_EQ(out[0], 3);
  });
  EXPECT_EQ(errors, none(2));
}

TEST(Memory, IsNotThereForMoreBytesThanAddresses) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 62, std::size_t{1} << 63}) {
    EXPECT_THROW(allocate(bytes), std::bad_alloc) << bytes;
  }
}

}  // namespace
}  // namespace weft::alltoall_test
