// Alltoallw: blocks that the caller packs in parts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::packed_test {
namespace {

using test::none;
using test::run_ranks;

std::byte value(std::size_t from, std::size_t to, std::size_t at, unsigned seed) {
  return static_cast<std::byte>(from * 31 + to * 7 + at * 13 + at / 251 + seed);
}

/// What `from` has for `to`, which both know: nothing, what goes with the news, and more.
std::size_t block_bytes(unsigned seed, std::size_t from, std::size_t to) {
  std::mt19937 random(static_cast<unsigned>(seed * 1009 + from * 101 + to));
  constexpr std::size_t kMost[] = {1, 300, 5'000, 600'000};
  return random() % kMost[random() % 4];
}

/// One alltoallw. Every byte is made by pack() from its place, and judged by unpack(), which must
/// get each once: "" or what is wrong.
std::string exchange(Communicator& comm, unsigned seed) {
  const auto rank = static_cast<std::size_t>(comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::size_t> sends, receives;
  for (std::size_t i = 0; i < ranks; ++i) {
    sends.push_back(block_bytes(seed, rank, i));
    receives.push_back(block_bytes(seed, i, rank));
  }
  std::vector<std::size_t> unpacked(ranks, 0);
  std::string wrong;
  comm.alltoallw(sends, receives,
                 {[&](int to, std::size_t begin, std::size_t end, std::byte* packed) {
                    for (std::size_t at = begin; at < end; ++at) {
                      packed[at - begin] = value(rank, static_cast<std::size_t>(to), at, seed);
                    }
                  },
                  [&](int source, std::size_t begin, std::size_t end, const std::byte* packed) {
                    const auto from = static_cast<std::size_t>(source);
                    if (unpacked[from] != begin || end > receives[from])
                      wrong = "a part comes out of turn";
                    unpacked[from] = end;
                    for (std::size_t at = begin; at < end; ++at) {
                      if (packed[at - begin] != value(from, rank, at, seed)) wrong = "a wrong byte";
                    }
                  }});
  if (unpacked != receives) wrong = "a part is missing";
  return wrong;
}

/// Calls with other sizes, and other collectives between them. A rank that finds something wrong
/// goes on with the others, which would wait for it.
std::string exchange_often(Communicator& comm, unsigned seed) {
  std::string first_wrong;
  for (unsigned round = 0; round < 8; ++round) {
    const std::string wrong = exchange(comm, seed + round);
    if (first_wrong.empty()) first_wrong = wrong;
    const int mine = comm.rank();
    int sum = 0;
    comm.allreduce(&mine, &sum, 1, operation(Operator::sum, Type::int32));
    if (sum != comm.size() * (comm.size() - 1) / 2) first_wrong = "allreduce: a wrong sum";
  }
  if (!first_wrong.empty()) return first_wrong;
  return comm.packs_in_parts() ? test::other_than("packed", "alltoallv", comm) : "";
}

RC_GTEST_PROP(Packed, ArrivesWhereverRanksAre, (unsigned seed)) {
  const auto machine = hierarchy::any_machine(6);
  Options options;
  options.node_of_rank.assign(machine.node_of_rank().begin(), machine.node_of_rank().end());
  const auto errors = run_ranks(machine.ranks(), [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), options);
    const bool in_parts = machine.nodes() == 1 && machine.ranks() > 1;
    if (comm.packs_in_parts() != in_parts) throw std::runtime_error("not as expected");
    if (auto wrong = exchange_often(comm, seed); !wrong.empty()) throw std::runtime_error(wrong);
  });
  RC_ASSERT(errors == none(machine.ranks()));
}

TEST(Packed, ArrivesInOtherProcesses) {
  for (const char* wait : {"spin", "sleep"}) {
    const auto ended = test::run_processes(5, {{"WEFT_WAIT", wait}}, [](int) {
      Communicator comm(tcp_bootstrap());
      return comm.packs_in_parts() ? exchange_often(comm, 5) : "not in parts";
    });
    for (const auto& one : ended) {
      EXPECT_TRUE(one.in_time);
      EXPECT_EQ(one.said, "");
    }
  }
}

TEST(Packed, IsNotWhatASetAlgorithmIs) {
  const auto ended = test::run_processes(3, {{"WEFT_ALLTOALLV", "isend"}}, [](int) {
    Communicator comm(tcp_bootstrap());
    if (comm.packs_in_parts()) return std::string("in parts");
    const std::string wrong = exchange_often(comm, 3);
    return wrong.empty() ? test::other_than("isend", "alltoallv", comm) : wrong;
  });
  for (const auto& one : ended) {
    EXPECT_TRUE(one.in_time);
    EXPECT_EQ(one.said, "");
  }
}

/// What each of three ranks says of an alltoallw of `bytes`, of which rank 1 expects others, or
/// cannot pack the second part.
std::vector<std::string> errors_of(std::size_t bytes, std::size_t expected, bool packs) {
  return run_ranks(3, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    const std::vector<std::size_t> sends(3, bytes);
    std::vector<std::size_t> receives = sends;
    if (rank == 1) receives[2] = expected;
    comm.alltoallw(sends, receives,
                   {[&](int, std::size_t from, std::size_t to, std::byte* packed) {
                      if (rank == 1 && !packs && from > 0) throw std::runtime_error("no more");
                      std::fill_n(packed, to - from, std::byte{1});
                    },
                    [](int, std::size_t, std::size_t, const std::byte*) {}});
  });
}

TEST(Packed, OfOtherSizesIsAnErrorOfAll) {
  for (const std::string& error : errors_of(300'000, 299'999, true)) {
    EXPECT_NE(
        error.find("rank 1: alltoallw: receives 299999 bytes from rank 2, which sends 300000"),
        std::string::npos)
        << error;
  }
}

TEST(Packed, ThatCannotBePackedIsAnErrorOfAll) {
  for (const std::string& error : errors_of(600'000, 600'000, false)) {
    EXPECT_NE(error.find("rank 1: no more"), std::string::npos) << error;
  }
}

TEST(Packed, WithoutABlockForEachRankIsRefused) {
  const auto errors = run_ranks(1, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    const std::vector<std::size_t> two(2, 8);
    comm.alltoallw(two, two, {});
  });
  EXPECT_NE(errors.front().find("alltoallw of 1 ranks with 2 blocks to send and 2 to receive"),
            std::string::npos)
      << errors.front();
}

}  // namespace
}  // namespace weft::packed_test
