// Calls by stages beside calls that read neighbours' buffers, of every kind of memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"

namespace weft::by_stages_test {
namespace {

using Words = std::uint32_t;

/// Memory of the shared heap, or not.
class Buffer {
 public:
  Buffer(std::size_t words, bool in_heap) : in_heap_(in_heap) {
    words_ = static_cast<Words*>(in_heap ? weft::allocate(words * sizeof(Words))
                                         : ::operator new(words * sizeof(Words)));
    std::memset(words_, 0x5a, words * sizeof(Words));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (in_heap_) {
      weft::deallocate(words_);
    } else {
      ::operator delete(words_);
    }
  }
  Words* get() const { return words_; }
  Words& operator[](std::size_t i) const { return words_[i]; }

 private:
  bool in_heap_;
  Words* words_;
};

/// Word i of what rank `from` has for rank `to` in a round.
Words word(std::size_t from, std::size_t to, std::size_t i, unsigned round) {
  return static_cast<Words>(from * 7919 + to * 104729 + i * 31 + round);
}

/// One call of some collective with `words` of a block; "" where its result is right.
std::string one_call(Communicator& comm, unsigned kind, std::size_t words, unsigned round,
                     bool sends_heap, bool receives_heap) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto own = static_cast<std::size_t>(comm.rank());
  const std::size_t bytes = words * sizeof(Words);
  const Buffer in(ranks * words, sends_heap), out(ranks * words, receives_heap);
  for (std::size_t i = 0; i < ranks * words; ++i) in[i] = word(own, i / words, i % words, round);
  const int root = static_cast<int>(round % ranks);
  const auto from_root = static_cast<std::size_t>(root);
  const Operation sum = operation(Operator::sum, Type::uint32);
  std::size_t wrong = 0;
  switch (kind) {
    case 0:
      comm.alltoall(in.get(), out.get(), bytes);
      for (std::size_t i = 0; i < ranks * words; ++i)
        wrong += out[i] != word(i / words, own, i % words, round);
      return wrong == 0 ? "" : fmt::format("alltoall of {} words: {} wrong", words, wrong);
    case 1:
      comm.allgather(in.get(), out.get(), bytes);
      for (std::size_t i = 0; i < ranks * words; ++i)
        wrong += out[i] != word(i / words, 0, i % words, round);
      return wrong == 0 ? "" : fmt::format("allgather of {} words: {} wrong", words, wrong);
    case 2:
      if (own == from_root) std::memcpy(out.get(), in.get(), bytes);
      comm.broadcast(out.get(), bytes, root);
      for (std::size_t i = 0; i < words; ++i) wrong += out[i] != word(from_root, 0, i, round);
      return wrong == 0 ? "" : fmt::format("broadcast of {} words: {} wrong", words, wrong);
    default:
      comm.allreduce(in.get(), out.get(), words, sum);
      for (std::size_t i = 0; i < words; ++i) {
        Words right = 0;
        for (std::size_t from = 0; from < ranks; ++from) right += word(from, 0, i, round);
        wrong += out[i] != right;
      }
      return wrong == 0 ? "" : fmt::format("allreduce of {} words: {} wrong", words, wrong);
  }
}

using Settings = std::vector<std::pair<std::string, std::string>>;

const Settings kWithHeap = {{"WEFT_SHARED_HEAP", "1"}, {"WEFT_CMA", "0"}};
const Settings kWithoutHeap = {{"WEFT_SHARED_HEAP", "0"}, {"WEFT_VIEW", "cma"}, {"WEFT_CMA", "0"}};
const Settings kReadsLong = {{"WEFT_SHARED_HEAP", "1"}};
const Settings kReadsLongWithoutHeap = {{"WEFT_SHARED_HEAP", "0"}, {"WEFT_VIEW", "cma"}};

/// Runs `body` on each rank, which returns a text that begins with "right".
template <class Body>
void expect_right(int ranks, const Settings& settings, const Body& body) {
  for (const auto& end : test::run_processes(ranks, settings, body)) {
    EXPECT_EQ(end.said.find("right"), 0u) << end.said;
  }
}

struct Case {
  const char* name;
  int ranks;
  const char* heap;
  const char* view;
  const char* cma = "0";
};

class ByStages : public testing::TestWithParam<Case> {};

TEST_P(ByStages, ResultsAreRightInTurnsWithTheOtherWay) {
  const Case& one = GetParam();
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    std::mt19937 same(7), own(static_cast<unsigned>(rank));
    for (unsigned round = 0; round < 120; ++round) {
      const unsigned kind = same() % 4;
      const std::size_t words = 1 + same() % (same() % 2 == 0 ? 3'000 : 60'000);
      comm.set_by_stages(same() % 2 == 0);
      // In some calls all buffers are of the heap, so that some classes read them.
      const bool all_heap = round % 3 == 0;
      const bool sends_heap = all_heap || own() % 2 == 0;
      const bool receives_heap = all_heap || own() % 2 == 0;
      const auto wrong = one_call(comm, kind, words, round, sends_heap, receives_heap);
      if (!wrong.empty()) return wrong;
    }
    const std::string cma = GetParam().cma;
    const bool reads = comm.statistics().view == "shared heap" || cma == "1";
    for (const char* algorithm : {"sa", "sa:direct=1"}) {
      if (reads && test::calls_by(comm, "alltoall", algorithm) == 0) {
        return fmt::format("no alltoall by {}", algorithm);
      }
    }
    return (comm.bytes_outside_heap() != 0) == reads ? "right"
                                                     : "bytes outside of the heap are wrong";
  };
  expect_right(one.ranks,
               {{"WEFT_SHARED_HEAP", one.heap}, {"WEFT_VIEW", one.view}, {"WEFT_CMA", one.cma}},
               body);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ByStages,
                         testing::Values(Case{"two", 2, "1", "auto"}, Case{"three", 3, "1", "auto"},
                                         Case{"four", 4, "1", "auto"},
                                         Case{"two_that_read_long_blocks", 2, "1", "auto", "1"},
                                         Case{"without_heap", 3, "0", "cma"},
                                         Case{"without_heap_that_read_long_blocks", 3, "0", "cma",
                                              "1"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ByStages, ReadNoBuffers) {
  const auto body = [](int) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "shared heap") return "right (no heap here)";
    comm.set_by_stages(true);
    for (unsigned kind = 0; kind < 4; ++kind) {
      const auto wrong = one_call(comm, kind, 50'000, kind, false, false);
      if (!wrong.empty()) return wrong;
    }
    if (comm.bytes_outside_heap() != 0) return "buffers were read";
    comm.set_by_stages(false);
    for (const bool in_heap : {true, false}) {
      if (comm.bytes_outside_heap() != 0) return "buffers of the heap were read by calls";
      const auto wrong = one_call(comm, 0, 50'000, 1, in_heap, in_heap);
      if (!wrong.empty()) return wrong;
    }
    return comm.bytes_outside_heap() >= 200'000 ? "right" : "no buffer was read";
  };
  expect_right(2, kWithHeap, body);
}

/// The buffers of a class's first call, by collective, and the algorithms for them.
struct First {
  const char* name;
  unsigned kind;  // of one_call()
  const char* collective;
  bool (*sends_heap)(int rank);
  bool (*receives_heap)(int rank);
  bool reads;  // neighbours' buffers where they lie
};

class FirstBuffers : public testing::TestWithParam<First> {};

TEST_P(FirstBuffers, DecideWhetherAnyAreRead) {
  const auto body = [](int rank) -> std::string {
    const First& first = GetParam();
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "shared heap") return "right (no heap here)";
    for (unsigned round = 0; round < 4; ++round) {
      const auto wrong = one_call(comm, first.kind, 50'000, 3 * round, first.sends_heap(rank),
                                  first.receives_heap(rank));
      if (!wrong.empty()) return wrong;
    }
    if (comm.bytes_outside_heap() != 0) return "buffers were read by calls";
    std::uint64_t reads = 0;
    for (const auto& entry : comm.statistics().entries) {
      const bool is_direct = entry.algorithm.find("direct") != std::string::npos;
      if (entry.collective == first.collective && is_direct) reads += entry.calls;
    }
    return reads == (first.reads ? 4 : 0) ? "right" : fmt::format("{} calls read buffers", reads);
  };
  expect_right(3, kWithHeap, body);
}

constexpr auto kAll = [](int) { return true; };
constexpr auto kNone = [](int) { return false; };
constexpr auto kButOne = [](int rank) { return rank != 1; };

INSTANTIATE_TEST_SUITE_P(
    ByStages, FirstBuffers,
    testing::Values(First{"InHeap", 0, "alltoall", kAll, kAll, true},
                    First{"InHeapAsFarAsRead", 0, "alltoall", kAll, kNone, true},
                    First{"InHeapOnAllButOne", 0, "alltoall", kButOne, kAll, false},
                    First{"Elsewhere", 0, "alltoall", kNone, kNone, false},
                    First{"AllgatherElsewhere", 1, "allgather", kNone, kAll, false},
                    First{"BroadcastInHeap", 2, "broadcast", kNone, kAll, true},
                    // Rank 1, which never sends in these rounds, is not read.
                    First{"BroadcastInHeapOfTheRoot", 2, "broadcast", kNone, kButOne, true},
                    First{"BroadcastElsewhere", 2, "broadcast", kAll, kNone, false},
                    First{"AllreduceInHeap", 3, "allreduce", kAll, kAll, true},
                    First{"AllreduceElsewhere", 3, "allreduce", kNone, kNone, false}),
    [](const auto& one) { return std::string(one.param.name); });

/// Only long blocks of alltoalls are read by system calls.
TEST(ByStages, AreNotForLongAlltoalls) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view == "staged") return "right (no CMA here)";
    for (const std::size_t words : {10'000, 20'000}) {
      const auto wrong = one_call(comm, 0, words, 1, rank != 1, false);
      if (!wrong.empty()) return wrong;
      const bool is_long = words * sizeof(Words) >= (64 << 10);
      if (is_long != (test::calls_by(comm, "alltoall", "sa:direct=1") != 0)) {
        return fmt::format("{} words went another way", words);
      }
    }
    for (const unsigned kind : {1u, 2u, 3u}) {
      const std::uint64_t before = comm.bytes_outside_heap();
      const auto wrong = one_call(comm, kind, 50'000, 0, false, false);
      if (!wrong.empty()) return wrong;
      if (comm.bytes_outside_heap() != before) return "another collective was read by calls";
    }
    return "right";
  };
  expect_right(3, kReadsLong, body);
  expect_right(3, kReadsLongWithoutHeap, body);
}

/// One rank that is to make no calls is enough.
TEST(ByStages, AreForAllWhereOneRankMakesNoCalls) {
  const auto body = [](int rank) -> std::string {
    if (rank == 1) ::setenv("WEFT_CMA", "0", 1);
    Communicator comm(tcp_bootstrap());
    const auto wrong = one_call(comm, 0, 50'000, 1, false, false);
    if (!wrong.empty()) return wrong;
    return test::calls_by(comm, "alltoall", "sa") == 1 ? "right" : "not by stages";
  };
  expect_right(3, kReadsLong, body);
  expect_right(3, kReadsLongWithoutHeap, body);
}

/// Of an alltoallv the blocks and receive buffers of the first call decide.
struct FirstVector {
  const char* name;
  std::size_t words;  // of a block
  bool (*receives_heap)(int rank);
  const char* algorithm;
  bool by_kernel;  // blocks of 80,000 bytes
  const Settings* settings = &kWithHeap;
};

class FirstVectors : public testing::TestWithParam<FirstVector> {};

TEST_P(FirstVectors, DecideWhichBlocksGoInSlots) {
  const auto body = [](int rank) -> std::string {
    const FirstVector& first = GetParam();
    Communicator comm(tcp_bootstrap());
    const bool has_heap = comm.statistics().view == "shared heap";
    if (!has_heap && first.settings == &kWithHeap) return "right (no heap here)";
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto own = static_cast<std::size_t>(rank);
    const std::size_t words = 20'000;
    const Buffer in(ranks * words, has_heap);
    const Buffer out(ranks * words, has_heap && first.receives_heap(rank));
    for (std::size_t i = 0; i < ranks * words; ++i) in[i] = word(own, i / words, i % words, 1);
    for (const std::size_t each : {first.words, words}) {
      std::vector<Part> parts;
      for (std::size_t to = 0; to < ranks; ++to) {
        parts.push_back({to * words * sizeof(Words), each * sizeof(Words)});
      }
      comm.alltoallv(in.get(), parts, out.get(), parts);
      for (std::size_t i = 0; i < ranks * words; ++i) {
        const bool is_sent = i % words < each;
        if (is_sent && out[i] != word(i / words, own, i % words, 1)) return "a wrong word";
      }
    }
    if (test::calls_by(comm, "alltoallv", first.algorithm) != 2) return "another algorithm";
    // Of all ranks: a rank writes into its neighbours' buffers.
    std::uint32_t calls = comm.bytes_outside_heap() != 0, most = 0;
    comm.allreduce(&calls, &most, 1, operation(Operator::maximum, Type::uint32));
    return (most != 0) == first.by_kernel ? "right" : "system calls are wrong";
  };
  expect_right(3, *GetParam().settings, body);
}

INSTANTIATE_TEST_SUITE_P(
    ByStages, FirstVectors,
    testing::Values(FirstVector{"InHeap", 20'000, kAll, "sa:aggregate=16384", false},
                    FirstVector{"Elsewhere", 20'000, kNone, "sa:aggregate=262144", false},
                    FirstVector{"ElsewhereOfOne", 20'000, kButOne, "sa:aggregate=262144", false},
                    FirstVector{"ShortElsewhere", 4'000, kNone, "sa:aggregate=16384", true},
                    FirstVector{"WithoutHeap", 20'000, kNone, "sa:aggregate=262144", false,
                                &kWithoutHeap}),
    [](const auto& one) { return std::string(one.param.name); });

/// Where each rank has a core, and stages would hold more.
TEST(ByStages, PiecesStayInACache) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().waiting.find("spin") != 0) return "right (ranks share a core)";
    const std::size_t words = 1 << 20;
    const Buffer data(words, false);
    for (std::size_t i = 0; i < words; ++i) data[i] = rank == 0 ? word(0, 0, i, 1) : 0;
    comm.broadcast(data.get(), words * sizeof(Words), 0);
    for (std::size_t i = 0; i < words; ++i) {
      if (data[i] != word(0, 0, i, 1)) return "a wrong word";
    }
    const std::uint64_t staged = comm.statistics().stage_bytes;
    return staged == 2 * (256 << 10) ? "right" : fmt::format("{} bytes of stages", staged);
  };
  expect_right(2, kWithoutHeap, body);
  expect_right(2, kWithHeap, body);
}

/// A call that was made by stages is not what another one repeats.
TEST(ByStages, AreNotMadeAgain) {
  const auto body = [](int) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "shared heap") return "right (no heap here)";
    const Buffer in(20'000, true), out(20'000, true);
    comm.alltoall(in.get(), out.get(), 400);
    comm.set_by_stages(true);
    comm.alltoall(in.get(), out.get(), 40'000);
    comm.set_by_stages(false);
    return comm.last_made().call == nullptr ? "right" : "another call than the last";
  };
  expect_right(2, kWithHeap, body);
}

class OnSomeRanks : public testing::TestWithParam<bool> {};

TEST_P(OnSomeRanks, EndInAnErrorOnAll) {
  const auto body = [is_known = GetParam()](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "shared heap") return "right (no heap here)";
    const Buffer in(60'000, true), out(60'000, true);
    for (const bool by_stages : {false, true}) {
      comm.set_by_stages(by_stages);
      if (is_known || !by_stages) comm.alltoall(in.get(), out.get(), 80'000);
    }
    comm.set_by_stages(rank == 0);
    try {
      comm.alltoall(in.get(), out.get(), 80'000);
    } catch (const CallError&) {
      return "right";
    }
    return "no error";
  };
  expect_right(2, kWithHeap, body);
}

INSTANTIATE_TEST_SUITE_P(ByStages, OnSomeRanks, testing::Bool(),
                         [](const auto& known) { return known.param ? "Known" : "New"; });

}  // namespace
}  // namespace weft::by_stages_test
