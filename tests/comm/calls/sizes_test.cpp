// Calls of many sizes: ranks agree about a few of them, and none is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <numeric>
#include <random>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/count_allocations.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::sizes_test {
namespace {

using test::none;
using test::on;
using test::run_ranks;

/// Counts the rounds of a bootstrap.
class Counting final : public Bootstrap {
 public:
  Counting(std::unique_ptr<Bootstrap> real, int& rounds)
      : real_(std::move(real)), rounds_(rounds) {}
  int rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }
  std::vector<std::string> allgather(std::string_view mine) override {
    ++rounds_;
    return real_->allgather(mine);
  }
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    ++rounds_;
    return real_->exchange(peers, mine);
  }
  void progress() override { real_->progress(); }
  void check() override { real_->check(); }

 private:
  std::unique_ptr<Bootstrap> real_;
  int& rounds_;
};

/// A broadcast and an allreduce of about `elements`; whether their results are right.
bool calls_are_right(Communicator& comm, std::size_t elements, int round) {
  const auto sum = operation(Operator::sum, Type::uint32);
  std::vector<std::uint8_t> data(elements);
  const auto first = static_cast<std::uint8_t>(elements + static_cast<std::size_t>(round));
  if (comm.rank() == 1) std::iota(data.begin(), data.end(), first);
  comm.broadcast(data.data(), elements, 1);
  for (std::size_t i = 0; i < elements; ++i) {
    if (data[i] != static_cast<std::uint8_t>(first + i)) return false;
  }
  const auto rank = static_cast<std::uint32_t>(comm.rank());
  std::vector<std::uint32_t> mine(elements / 4 + 1);
  std::iota(mine.begin(), mine.end(), rank);
  std::vector<std::uint32_t> all(mine.size());
  comm.allreduce(mine.data(), all.data(), mine.size(), sum);
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != ranks * static_cast<std::uint32_t>(i) + ranks * (ranks - 1) / 2) return false;
  }
  return true;
}

class ManySizes : public testing::TestWithParam<const char*> {};

TEST_P(ManySizes, AreAgreedOnByClasses) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  std::vector<int> rounds(static_cast<std::size_t>(ranks));
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    int& own = rounds[static_cast<std::size_t>(rank)];
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), own), on(machine));
    for (int pass = 0; pass < 2; ++pass) {
      const int before = own;
      for (std::size_t elements = 1; elements < 9000; elements += 1 + elements / 200) {
        ASSERT_TRUE(calls_are_right(comm, elements, pass)) << elements << " in pass " << pass;
      }
      // 14 buckets of two collectives, each with a few agreements, and stages that grow.
      EXPECT_LE(own - before, pass == 0 ? 14 * 2 * 3 * 3 : 0);
    }
  });
  EXPECT_EQ(errors, none(ranks));
}

/// Every collective with blocks or vectors of about `bytes`.
void call_all(Communicator& comm, std::size_t bytes, std::vector<std::byte>& input,
              std::vector<std::byte>& output) {
  static const Operation sum = operation(Operator::sum, Type::uint64);
  const std::size_t elements = bytes / sum.element_bytes + 1;
  const int root = comm.size() - 1;
  comm.alltoall(input.data(), output.data(), bytes);
  comm.allgather(input.data(), output.data(), bytes);
  comm.scatter(input.data(), output.data(), bytes, root);
  comm.gather(input.data(), output.data(), bytes, root);
  comm.broadcast(output.data(), bytes, root);
  comm.reduce(input.data(), output.data(), elements, sum, root);
  comm.allreduce(input.data(), output.data(), elements, sum);
  comm.reduce_scatter(input.data(), output.data(), elements, sum);
  comm.scan(input.data(), output.data(), elements, sum);
  comm.exscan(input.data(), output.data(), elements, sum);
}

// Sizes that no rank has seen, of classes that all know: nothing is agreed upon, and nothing is
// allocated.
TEST_P(ManySizes, AreFreeInAKnownClass) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  constexpr std::size_t kMostBytes = 16 << 10;
  std::barrier gate(ranks);
  std::vector<int> rounds(static_cast<std::size_t>(ranks));
  long allocated = 0;
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    int& own = rounds[static_cast<std::size_t>(rank)];
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), own), on(machine));
    std::vector<std::byte> input(static_cast<std::size_t>(ranks) * (kMostBytes + 8));
    std::vector<std::byte> output(input.size());
    // The largest and the smallest of each class, and of each choice of algorithm; several times,
    // as a message may go at once in one round and wait in another.
    for (int turn = 0; turn < 6; ++turn) {
      for (std::size_t most = 512; most <= kMostBytes; most *= 2) {
        for (const std::size_t bytes :
             {most / 2 + 8, most / 4 * 3 - 8, most / 4 * 3 + 8, most - 8}) {
          call_all(comm, bytes, input, output);
        }
      }
    }
    const int before = own;
    gate.arrive_and_wait();
    if (rank == 0) allocated -= test::allocations();
    gate.arrive_and_wait();
    for (std::size_t bytes = 512 + 24; bytes < kMostBytes; bytes += 8 + bytes / 40 * 8) {
      call_all(comm, bytes, input, output);
    }
    gate.arrive_and_wait();
    if (rank == 0) allocated += test::allocations();
    gate.arrive_and_wait();
    EXPECT_EQ(own, before);
  });
  EXPECT_EQ(errors, none(ranks));
  EXPECT_EQ(allocated, 0);
}

// Requests keep their programs while other sizes of their class are called.
TEST_P(ManySizes, LeaveThoseOfRequestsAlone) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine));
    constexpr std::size_t kLeast = 40;
    constexpr std::size_t kRequests = 24;
    std::vector<std::vector<std::uint8_t>> kept(kRequests);
    std::vector<Request> requests;
    for (std::size_t i = 0; i < kRequests; ++i) {
      kept[i].resize(kLeast + i);
      requests.push_back(comm.broadcast_init(kept[i].data(), kept[i].size(), 0));
    }
    for (int turn = 0; turn < 5; ++turn) {
      for (auto& bytes : kept) {
        std::ranges::fill(bytes, comm.rank() == 0 ? static_cast<std::uint8_t>(turn + 1) : 0);
      }
      for (Request& request : requests) request.start();
      for (std::size_t elements = 41; elements < 64; ++elements) {
        ASSERT_TRUE(calls_are_right(comm, elements, turn)) << elements;
      }
      for (Request& request : requests) request.wait();
      for (const auto& bytes : kept) {
        ASSERT_EQ(std::ranges::count(bytes, turn + 1), static_cast<long>(bytes.size()));
      }
    }
  });
  EXPECT_EQ(errors, none(ranks));
}

/// An allgather of blocks of different sizes, and a gather and a scatter of them; whether they
/// bring what they should.
bool vectors_are_right(Communicator& comm, int turn) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto self = static_cast<std::size_t>(comm.rank());
  const int root = turn % comm.size();
  std::vector<Part> parts;
  std::size_t end = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t bytes = (rank * 37 + static_cast<std::size_t>(turn) * 11) % 7 * 10;
    parts.push_back({end, bytes});
    // Side by side in every other call.
    end += bytes + (turn % 2 == 0 ? 0 : rank % 2);
  }
  const auto value = [&](std::size_t rank) {
    return static_cast<std::uint8_t>(rank * 16 + static_cast<std::size_t>(turn) + 1);
  };
  const std::vector<std::uint8_t> mine(parts[self].bytes, value(self));
  const auto is_whole = [&](const std::vector<std::uint8_t>& all) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < parts[rank].bytes; ++i) {
        if (all[parts[rank].offset + i] != value(rank)) return false;
      }
    }
    return true;
  };
  std::vector<std::uint8_t> all(end);
  comm.allgather(mine.data(), all.data(), parts);
  if (!is_whole(all)) return false;
  std::vector<std::uint8_t> gathered(end);
  comm.gather(mine.data(), mine.size(), gathered.data(), parts, root);
  if (comm.rank() == root && !is_whole(gathered)) return false;
  std::vector<std::uint8_t> own(mine.size());
  comm.scatter(all.data(), parts, own.data(), own.size(), root);
  return own == mine;
}

TEST_P(ManySizes, OfVectorsOfCountsAreNotAgreedOnOneByOne) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  std::vector<int> rounds(static_cast<std::size_t>(ranks));
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    int& own = rounds[static_cast<std::size_t>(rank)];
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), own), on(machine));
    int before = 0;
    for (int turn = 0; turn < 200; ++turn) {
      if (turn == 60) before = own;
      ASSERT_TRUE(vectors_are_right(comm, turn)) << turn;
    }
    EXPECT_EQ(own, before);
  });
  EXPECT_EQ(errors, none(ranks));
}

/// An allgather of blocks of about `bytes`, of which some may be empty; whether it is right.
bool list_is_right(Communicator& comm, unsigned seed, std::size_t bytes, std::vector<Part>& parts,
                   std::vector<std::byte>& mine, std::vector<std::byte>& all) {
  std::size_t end = 0;
  for (Part& part : parts) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t own = (seed >> 8) % 16 == 0 ? 0 : bytes - (seed >> 12) % (bytes / 4);
    part = {end, own};
    end += own;
  }
  const auto self = static_cast<std::size_t>(comm.rank());
  const auto value = [&](std::size_t rank) { return static_cast<std::byte>(rank * 16 + seed); };
  std::fill_n(mine.begin(), parts[self].bytes, value(self));
  std::fill_n(all.begin(), end, std::byte{0});
  comm.allgather(mine.data(), all.data(), parts);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    for (std::size_t i = 0; i < parts[rank].bytes; ++i) {
      if (all[parts[rank].offset + i] != value(rank)) return false;
    }
  }
  return true;
}

// Lists of counts that no rank has seen, of classes that all know: nothing is agreed upon, and
// mostly no more is allocated than by a list that is repeated.
TEST_P(ManySizes, OfVectorsOfCountsCostNoMoreThanTheSameCounts) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  constexpr std::size_t kSizes[] = {100, 1000, 30'000};
  constexpr int kCalls = 100;
  std::barrier gate(ranks);
  std::vector<int> rounds(static_cast<std::size_t>(ranks));
  long allocated[2] = {0, 0};  // by the same counts, by new ones
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    int& own = rounds[static_cast<std::size_t>(rank)];
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), own), on(machine));
    std::vector<Part> parts(static_cast<std::size_t>(ranks));
    std::vector<std::byte> mine(kSizes[2]);
    std::vector<std::byte> all(mine.size() * parts.size());
    bool is_right = true;
    const auto call = [&](unsigned seed) {
      for (const std::size_t bytes : kSizes) {
        is_right = is_right && list_is_right(comm, seed, bytes, parts, mine, all);
      }
    };
    for (unsigned seed = 0; seed < 500; ++seed) call(seed);
    const int before = own;
    for (const bool changes : {false, true}) {
      call(1);
      gate.arrive_and_wait();
      if (rank == 0) allocated[changes] -= test::allocations();
      gate.arrive_and_wait();
      for (int i = 0; i < kCalls; ++i) call(changes ? 1000u + static_cast<unsigned>(i) : 1u);
      gate.arrive_and_wait();
      if (rank == 0) allocated[changes] += test::allocations();
      gate.arrive_and_wait();
    }
    EXPECT_EQ(own, before);
    EXPECT_TRUE(is_right);
  });
  EXPECT_EQ(errors, none(ranks));
  // A plan has dozens. Messages between nodes may wait in queues that grow.
  EXPECT_LT(allocated[1], allocated[0] + ranks * kCalls / 4);
}

// Sizes of all magnitudes in one list: the largest and the mean are of few classes.
TEST_P(ManySizes, OfVectorsOfAllMagnitudesAreOfFewClasses) {
  const std::string machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  std::vector<int> rounds(static_cast<std::size_t>(ranks));
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    int& own = rounds[static_cast<std::size_t>(rank)];
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), own), on(machine));
    std::vector<Part> parts(static_cast<std::size_t>(ranks));
    constexpr int kMagnitudes = 15;
    std::vector<std::byte> mine(std::size_t{1} << kMagnitudes);
    std::vector<std::byte> all(mine.size() * parts.size());
    std::mt19937 random(3);
    for (const bool is_later : {false, true}) {
      const int before = own;
      for (int call = 0; call < 1000; ++call) {
        std::size_t end = 0;
        for (Part& part : parts) {
          const std::size_t about = std::size_t{1} << random() % kMagnitudes;
          part = {end, about + random() % about};
          end += part.bytes;
        }
        comm.allgather(mine.data(), all.data(), parts);
      }
      EXPECT_LE(own - before, is_later ? 10 : 10 * kMagnitudes);
    }
  });
  EXPECT_EQ(errors, none(ranks));
}

INSTANTIATE_TEST_SUITE_P(Machines, ManySizes, testing::Values("1x2", "1x4", "2x2"));

}  // namespace
}  // namespace weft::sizes_test
