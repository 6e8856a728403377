// Alltoallvs that go in slots by the choice of all ranks: what they have for one another decides,
// call by call all of it arrives.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "hierarchy/machine.hpp"
#include "nic_profiles/profile.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::slots_test {
namespace {

using test::none;
using test::run_ranks;

/// A profile in which messages are dear, so that few ranks gain by slots.
class DearMessages {
 public:
  DearMessages() {
    auto profile = nic_profiles::load("soft");
    profile.hardware.adapter.post_ns = 1e6;
    std::ofstream(path_) << nic_profiles::to_json(profile);
    ::setenv("WEFT_PROFILE", path_.c_str(), 1);
  }
  DearMessages(const DearMessages&) = delete;
  DearMessages& operator=(const DearMessages&) = delete;
  ~DearMessages() {
    ::unsetenv("WEFT_PROFILE");
    std::filesystem::remove(path_);
  }

 private:
  std::string path_ = testing::TempDir() + fmt::format("dear-messages-{}.json", ::getpid());
};

using Sizes = std::function<std::size_t(unsigned call, int from, int to)>;

std::byte value(unsigned call, int from, int to, std::size_t at) {
  return static_cast<std::byte>(call * 37 + static_cast<unsigned>(from * 11 + to * 5) + at);
}

void exchange(Communicator& comm, unsigned call, const Sizes& sizes, bool in_place) {
  const int rank = comm.rank();
  std::vector<Part> sends, receives;
  std::vector<std::byte> input, expected;
  for (int other = 0; other < comm.size(); ++other) {
    sends.push_back({input.size(), sizes(call, rank, other)});
    for (std::size_t at = 0; at < sends.back().bytes; ++at) {
      input.push_back(value(call, rank, other, at));
    }
    receives.push_back({expected.size(), sizes(call, other, rank)});
    for (std::size_t at = 0; at < receives.back().bytes; ++at) {
      expected.push_back(value(call, other, rank, at));
    }
  }
  if (in_place) {
    ASSERT_EQ(input.size(), expected.size());
    comm.alltoallv(nullptr, {}, input.data(), receives);
    ASSERT_EQ(input, expected) << "call " << call << ", rank " << rank;
    return;
  }
  std::vector<std::byte> output(expected.size());
  comm.alltoallv(input.data(), sends, output.data(), receives);
  ASSERT_EQ(output, expected) << "call " << call << ", rank " << rank;
}

/// Runs calls on a machine; what each rank sees of the algorithms at the end.
void run_calls(const char* machine, unsigned calls, const Sizes& sizes,
               const std::function<void(const Communicator&)>& look) {
  const DearMessages dear;
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), test::on(machine));
    for (unsigned call = 0; call < calls; ++call) {
      exchange(comm, call, sizes, call % 5 == 4);
      if (call % 6 == 1) comm.barrier();
    }
    look(comm);
  });
  ASSERT_EQ(errors, none(ranks));
}

std::uint64_t calls_in_slots(const Communicator& comm) {
  std::uint64_t calls = 0;
  for (const auto& entry : comm.statistics().entries) {
    if (entry.collective == "alltoallv" && entry.algorithm.find("slot=") != std::string::npos) {
      calls += entry.calls;
    }
  }
  return calls;
}

class ChosenSlots : public testing::TestWithParam<const char*> {};

TEST_P(ChosenSlots, ServeManySmallBlocksFromTheSecondCallOn) {
  const Sizes small = [](unsigned, int from, int to) {
    return static_cast<std::size_t>(1 + (from + to) % 7);
  };
  run_calls(GetParam(), 12, small,
            [](const Communicator& comm) { EXPECT_EQ(calls_in_slots(comm), 11u); });
}

TEST_P(ChosenSlots, DeliverWhateverTheSizesAreAfterwards) {
  const Sizes growing = [](unsigned call, int from, int to) -> std::size_t {
    const auto pair = static_cast<unsigned>(from * to + from + to);
    if (call < 4) return 1 + pair % 8;
    return (call * 7919 + pair * 104729) % 13 == 0 ? 20000 + pair : (call + pair) % 60;
  };
  run_calls(GetParam(), 40, growing,
            [](const Communicator& comm) { EXPECT_GE(calls_in_slots(comm), 3u); });
}

TEST_P(ChosenSlots, AreGivenUpWhereBlocksGrow) {
  const Sizes growing = [](unsigned call, int from, int to) {
    return static_cast<std::size_t>((call < 3 ? 1 : 3000) + from + to);
  };
  run_calls(GetParam(), 20, growing, [](const Communicator& comm) {
    // Surveys come before calls 2, 4, 8 and 16, of what has been since the last one.
    EXPECT_GE(calls_in_slots(comm), 2u);
    EXPECT_LE(calls_in_slots(comm), 14u);
  });
}

TEST_P(ChosenSlots, AreNotTakenForFewBlocks) {
  const Sizes pairs = [](unsigned, int from, int to) -> std::size_t {
    return from / 2 == to / 2 ? 8 : 0;
  };
  run_calls(GetParam(), 9, pairs,
            [](const Communicator& comm) { EXPECT_EQ(calls_in_slots(comm), 0u); });
}

INSTANTIATE_TEST_SUITE_P(Machines, ChosenSlots, testing::Values("8x1", "8x2", "2+1+1+2+1+1+1+1"));

TEST(ChosenSlotsNowhere, WhereAnotherAlgorithmIsAskedFor) {
  const DearMessages dear;
  constexpr int kRanks = 8;
  const auto errors = run_ranks(kRanks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = test::on("8x1");
    options.algorithms["alltoallv"] = "isend";
    Communicator comm(std::move(bootstrap), options);
    const Sizes small = [](unsigned, int, int) { return std::size_t{3}; };
    for (unsigned call = 0; call < 5; ++call) exchange(comm, call, small, false);
    EXPECT_EQ(test::calls_by(comm, "alltoallv", "isend"), 5u);
  });
  ASSERT_EQ(errors, none(kRanks));
}

}  // namespace
}  // namespace weft::slots_test
