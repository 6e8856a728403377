// alltoallv through the public API, ranks as threads: every algorithm, zero and large blocks, in
// place, call after call with other sizes; guard bytes stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <random>

#include "hierarchy/machine.hpp"
#include "registry/variants.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/count_allocations.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/sanitized.hpp"

namespace weft::alltoallv_test {
namespace {

using test::none;
using test::run_ranks;

constexpr std::byte kGuard{0xa5};

std::byte value(int from, int to, std::size_t at, unsigned call) {
  return static_cast<std::byte>(from * 131 + to * 31 + static_cast<int>(at) * 7 +
                                static_cast<int>(call) * 17);
}

/// The bytes from each rank to each.
using Sizes = std::vector<std::vector<std::size_t>>;

/// One call, known to all ranks, so that each can tell the bytes that must arrive.
struct Exchange {
  Sizes sizes;
  std::vector<unsigned> input_seeds;   // by rank: how its blocks lie
  std::vector<unsigned> output_seeds;  // by rank: how the blocks that it receives lie
  bool in_place = false;
};

/// In place both ways of a pair have one size.
void make_symmetric(Sizes& sizes) {
  for (std::size_t from = 0; from < sizes.size(); ++from) {
    for (std::size_t to = 0; to < from; ++to) sizes[from][to] = sizes[to][from];
  }
}

/// Bytes of a block: many blocks are empty, few are large.
Exchange exchange_of(int ranks, unsigned call, bool in_place) {
  std::mt19937 random(call * 7919 + 1);
  Exchange exchange{Sizes(ranks, std::vector<std::size_t>(ranks)), {}, {}, in_place};
  const bool skewed = random() % 4 == 0;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      const auto kind = random() % 8;
      std::size_t bytes = kind < 2 ? 0 : kind < 7 ? random() % 300 : random() % 40000;
      if (skewed && from != 0) bytes = 0;
      exchange.sizes[from][to] = bytes;
    }
  }
  if (in_place) make_symmetric(exchange.sizes);
  for (unsigned rank = 0; rank < static_cast<unsigned>(ranks); ++rank) {
    exchange.input_seeds.push_back(call * 100 + rank);
    exchange.output_seeds.push_back(call * 100 + rank + 50);
  }
  return exchange;
}

/// Blocks with gaps, in an order that is not that of the ranks; and where the last one ends.
std::vector<Part> lay_out(const std::vector<std::size_t>& bytes, unsigned seed, std::size_t& end) {
  std::mt19937 random(seed);
  std::vector<std::size_t> order(bytes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random);
  std::vector<Part> parts(bytes.size());
  end = random() % 8;
  for (const std::size_t i : order) {
    parts[i] = {end, bytes[i]};
    end += bytes[i] + random() % 16;
  }
  return parts;
}

void exchange_and_compare(Communicator& comm, unsigned call, const Exchange& exchange) {
  const int ranks = comm.size();
  const int rank = comm.rank();
  const bool in_place = exchange.in_place;
  const std::vector<std::size_t>& sent = exchange.sizes[rank];
  std::vector<std::size_t> received;
  for (int from = 0; from < ranks; ++from) received.push_back(exchange.sizes[from][rank]);
  std::size_t input_end = 0;
  std::size_t output_end = 0;
  const auto sends = lay_out(sent, exchange.input_seeds[rank], input_end);
  const auto receives = lay_out(received, exchange.output_seeds[rank], output_end);
  std::vector<std::byte> input(input_end);
  std::vector<std::byte> output(output_end + 64, kGuard);
  auto right = output;
  for (int other = 0; other < ranks; ++other) {
    std::byte* from =
        in_place ? output.data() + receives[other].offset : input.data() + sends[other].offset;
    for (std::size_t at = 0; at < sent[other]; ++at) from[at] = value(rank, other, at, call);
    for (std::size_t at = 0; at < received[other]; ++at) {
      right[receives[other].offset + at] = value(other, rank, at, call);
    }
  }
  const auto untouched = input;
  if (in_place) {
    comm.alltoallv(nullptr, {}, output.data(), receives);
  } else {
    comm.alltoallv(input.data(), sends, output.data(), receives);
  }
  ASSERT_EQ(input, untouched);
  const auto wrong = std::mismatch(output.begin(), output.end(), right.begin()).first;
  ASSERT_EQ(wrong, output.end()) << "rank " << rank << ", call " << call << ", first wrong at "
                                 << wrong - output.begin();
}

void exchange_and_compare(Communicator& comm, unsigned call, bool in_place) {
  exchange_and_compare(comm, call, exchange_of(comm.size(), call, in_place));
}

/// Calls that follow one another: most differ little from the one before. A few pairs have other
/// sizes, or a few ranks other places for what they send, or receive; now and then a call is in
/// place; often nothing changes.
std::vector<Exchange> any_sequence(int ranks, int calls, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  const auto any_size = [&below]() -> std::size_t {
    // Of inline messages, of slots, and on both sides of the limit from which on blocks go
    // straight.
    constexpr std::size_t kAround[] = {0, 8, 248, 300, 4096, 16384, 20000, 40000};
    const std::size_t around = kAround[below(std::size(kAround))];
    return around + (around == 0 ? 0 : below(3));
  };
  const auto number = static_cast<std::size_t>(ranks);
  Exchange exchange{Sizes(number, std::vector<std::size_t>(number)), std::vector<unsigned>(number),
                    std::vector<unsigned>(number)};
  std::vector<Exchange> sequence;
  for (int call = 0; call < calls; ++call) {
    switch (call == 0 ? 0 : below(8)) {
      case 0:  // all
        for (auto& row : exchange.sizes) std::ranges::generate(row, any_size);
        break;
      case 1:
      case 2:  // some pairs
        for (std::size_t some = 1 + below(3); some > 0; --some) {
          exchange.sizes[below(number)][below(number)] = any_size();
        }
        break;
      case 3:  // where one rank's blocks lie, of the same sizes
        exchange.input_seeds[below(number)] += 1;
        break;
      case 4:
        exchange.output_seeds[below(number)] += 1;
        break;
      default:
        break;
    }
    sequence.push_back(exchange);
    if (below(4) == 0) {
      sequence.back().in_place = true;
      make_symmetric(sequence.back().sizes);
    }
  }
  return sequence;
}

Options on(const char* machine, const std::string& algorithm = "") {
  Options options = test::on(machine);
  if (!algorithm.empty()) options.algorithms["alltoallv"] = algorithm;
  return options;
}

constexpr const char* kMachines[] = {"1x1", "1x2", "1x4", "2x1", "2x2", "1+3+1", "0,1,0,1,2"};

class Alltoallv : public testing::TestWithParam<const char*> {};

TEST_P(Alltoallv, OfAnySizesArrivesByTheChosenAlgorithm) {
  const char* machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine));
    for (unsigned call = 0; call < 60; ++call) {
      exchange_and_compare(comm, call / 2, call % 3 == 0);  // now and then the same again
      if (call % 10 == 0) comm.barrier();
    }
  });
  ASSERT_EQ(errors, none(ranks));
}

TEST_P(Alltoallv, OfAnySizesArrivesByEveryAlgorithm) {
  const char* machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  for (const auto& algorithm : test::part_of(registry::variants(plan::Collective::alltoallv, ranks),
                                             ranks, machine, kMachines)) {
    const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
      Communicator comm(std::move(bootstrap), on(machine, algorithm.name()));
      for (unsigned call = 0; call < 4; ++call) exchange_and_compare(comm, call, call % 2 == 1);
      EXPECT_EQ(test::other_than(algorithm.name(), "alltoallv", comm), "");
    });
    ASSERT_EQ(errors, none(ranks)) << algorithm.name() << " on " << machine;
  }
}

// Fewer cases under ThreadSanitizer, which takes a hundred times as long.
#ifdef __SANITIZE_THREAD__
constexpr unsigned kSequences = 1;
#else
constexpr unsigned kSequences = 3;
#endif

/// A plan that is kept for the next call must not change its result.
TEST_P(Alltoallv, OfSizesThatChangeAtSomeRanksArrives) {
  const char* machine = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  for (const char* algorithm : {"", "isend", "sa:direct=1", "rd", "leader:aggregate=300"}) {
    for (unsigned seed = 1; seed <= kSequences; ++seed) {
      const auto sequence = any_sequence(ranks, 40, seed * 31 + static_cast<unsigned>(ranks));
      const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
        Communicator comm(std::move(bootstrap), on(machine, algorithm));
        for (unsigned call = 0; call < sequence.size(); ++call) {
          exchange_and_compare(comm, call, sequence[call]);
        }
        if (*algorithm != '\0') {
          EXPECT_EQ(test::other_than(algorithm, "alltoallv", comm), "");
        }
      });
      ASSERT_EQ(errors, none(ranks)) << algorithm << " on " << machine << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Alltoallv, testing::ValuesIn(kMachines));

// Other sizes in each call, of all magnitudes: they go on as they went, without new plans.
TEST(AlltoallvOfOtherSizesInEachCall, IsPlannedSeldom) {
  constexpr int kRanks = 4;
  constexpr unsigned kWarm = 1500, kCalls = 100;
  std::barrier gate(kRanks);
  long allocated = 0;
  const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x4"));
    constexpr std::size_t kMost = 20'000;
    std::vector<std::byte> in(kRanks * kMost), out(kRanks * kMost);
    std::vector<Part> sends(kRanks), receives(kRanks);
    const auto call = [&](unsigned turn) {
      const auto bytes = [turn](int from, int to) -> std::size_t {
        std::mt19937 random(turn * 16 + static_cast<unsigned>(from * 4 + to));
        return random() % kMost >> random() % 16;
      };
      for (int other = 0; other < kRanks; ++other) {
        const auto block = static_cast<std::size_t>(other);
        sends[block] = {block * kMost, bytes(rank, other)};
        receives[block] = {block * kMost, bytes(other, rank)};
        for (std::size_t at = 0; at < sends[block].bytes; at += 97) {
          in[block * kMost + at] = value(rank, other, at, turn);
        }
      }
      comm.alltoallv(in.data(), sends, out.data(), receives);
      for (int from = 0; from < kRanks; ++from) {
        const Part& part = receives[static_cast<std::size_t>(from)];
        for (std::size_t at = 0; at < part.bytes; at += 97) {
          ASSERT_EQ(out[part.offset + at], value(from, rank, at, turn)) << turn;
        }
      }
    };
    for (unsigned turn = 0; turn < kWarm; ++turn) call(turn);
    gate.arrive_and_wait();
    if (rank == 0) allocated -= test::allocations();
    gate.arrive_and_wait();
    for (unsigned turn = kWarm; turn < kWarm + kCalls; ++turn) call(turn);
    gate.arrive_and_wait();
    if (rank == 0) allocated += test::allocations();
    gate.arrive_and_wait();
  });
  ASSERT_EQ(errors, none(kRanks));
  EXPECT_LT(allocated, kRanks * kCalls);  // a plan has dozens
}

TEST(AlltoallvRequest, KeepsItsSizes) {
  constexpr int kRanks = 3;
  const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1+2"));
    std::vector<int> in(kRanks), out(kRanks);
    const std::vector<Part> parts = {{0, 4}, {4, 4}, {8, 4}};
    Request request = comm.alltoallv_init(in.data(), parts, out.data(), parts);
    exchange_and_compare(comm, 3, false);  // other sizes in between
    for (int round = 0; round < 5; ++round) {
      for (int to = 0; to < kRanks; ++to) in[to] = rank * 100 + to * 10 + round;
      request.start();
      request.wait();
      for (int from = 0; from < kRanks; ++from) {
        ASSERT_EQ(out[from], from * 100 + rank * 10 + round);
      }
    }
  });
  ASSERT_EQ(errors, none(kRanks));
}

}  // namespace
}  // namespace weft::alltoallv_test
