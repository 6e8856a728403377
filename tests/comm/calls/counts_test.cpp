// Alltoallvs whose counts change from call to call: all of it arrives, and mostly nothing is
// planned anew, which would take memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/count_allocations.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::counts_test {
namespace {

using test::none;
using test::run_ranks;

constexpr std::size_t kMostBytes = 48 << 10;

/// Bytes that a rank sends to another in a call.
using Sizes = std::function<std::size_t(unsigned call, int from, int to)>;

unsigned mixed(unsigned call, int from, int to) {
  unsigned x = call * 2654435761u ^ static_cast<unsigned>(from * 40503 + to * 9973);
  x ^= x >> 13;
  return x * 2246822519u >> 7;
}

std::byte value(unsigned call, int from, int to) {
  return static_cast<std::byte>(call * 37 + static_cast<unsigned>(from * 11 + to * 5));
}

/// Makes calls of changing counts in memory that is there before.
class Exchange {
 public:
  Exchange(Communicator& comm, const Sizes& sizes)
      : comm_(comm),
        sizes_(sizes),
        ranks_(comm.size()),
        sends_(static_cast<std::size_t>(ranks_)),
        receives_(sends_.size()),
        input_(sends_.size() * kMostBytes),
        output_(input_.size()) {}

  /// Whether all arrived.
  bool call(unsigned call) {
    const int rank = comm_.rank();
    std::size_t sent = 0, received = 0;
    for (int other = 0; other < ranks_; ++other) {
      Part& send = sends_[static_cast<std::size_t>(other)];
      Part& receive = receives_[static_cast<std::size_t>(other)];
      send = {sent, sizes_(call, rank, other)};
      receive = {received, sizes_(call, other, rank)};
      std::fill_n(input_.begin() + static_cast<std::ptrdiff_t>(sent), send.bytes,
                  value(call, rank, other));
      sent += send.bytes;
      received += receive.bytes;
    }
    comm_.alltoallv(input_.data(), sends_, output_.data(), receives_);
    for (int other = 0; other < ranks_; ++other) {
      const Part& receive = receives_[static_cast<std::size_t>(other)];
      for (std::size_t at = 0; at < receive.bytes; ++at) {
        if (output_[receive.offset + at] != value(call, other, rank)) return false;
      }
    }
    return true;
  }

 private:
  Communicator& comm_;
  const Sizes& sizes_;
  int ranks_;
  std::vector<Part> sends_, receives_;
  std::vector<std::byte> input_, output_;
};

struct Found {
  std::vector<std::string> errors;
  int wrong = 0;
  long allocations = 0;  // of all ranks, in calls `warm` to `calls`
};

/// Ranks are threads.
Found make_calls(const char* machine, const char* algorithm, unsigned warm, unsigned calls,
                 const Sizes& sizes) {
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  std::barrier gate(ranks);
  std::atomic<int> wrong = 0;
  Found found;
  found.errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = test::on(machine);
    if (*algorithm != '\0') options.algorithms["alltoallv"] = algorithm;
    Communicator comm(std::move(bootstrap), options);
    Exchange exchange(comm, sizes);
    for (unsigned call = 0; call < warm; ++call) wrong += !exchange.call(call);
    gate.arrive_and_wait();
    if (rank == 0) found.allocations -= test::allocations();
    gate.arrive_and_wait();
    for (unsigned call = warm; call < calls; ++call) wrong += !exchange.call(call);
    gate.arrive_and_wait();
    if (rank == 0) found.allocations += test::allocations();
    gate.arrive_and_wait();
  });
  found.wrong = wrong;
  return found;
}

struct Kind {
  const char* name;
  std::size_t least, most;
};

class CountsOfAKind : public testing::TestWithParam<Kind> {};

TEST_P(CountsOfAKind, AreNeverPlannedAnewOnOneNode) {
  const Kind kind = GetParam();
  const Sizes sizes = [kind](unsigned call, int from, int to) {
    if (from == 1 && to == 2) return std::size_t{0};
    return kind.least + mixed(call, from, to) % (kind.most - kind.least + 1);
  };
  const Found found = make_calls("1x4", "", 40, 120, sizes);
  EXPECT_EQ(found.errors, none(4));
  EXPECT_EQ(found.wrong, 0);
  // Statistics have an entry for each power of two of the sizes. A plan takes dozens.
  EXPECT_LE(found.allocations, 16);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CountsOfAKind,
                         testing::Values(Kind{"on_signals", 1, 248}, Kind{"staged", 249, 16384},
                                         Kind{"straight", 16385, 40000}),
                         [](const auto& one) { return one.param.name; });

TEST(CountsThatChange, ArriveWhateverTheirKinds) {
  const Sizes sizes = [](unsigned call, int from, int to) -> std::size_t {
    const unsigned drawn = mixed(call, from, to);
    constexpr std::size_t kMost[] = {0, 8, 300, 5000, 40000};
    const std::size_t most = kMost[drawn % 5];
    return most == 0 ? 0 : drawn / 5 % most;
  };
  for (const char* machine : {"1x3", "2x2", "1+3"}) {
    const Found found = make_calls(machine, "", 0, 150, sizes);
    EXPECT_EQ(found.errors, none(hierarchy::Machine::parse(machine).ranks())) << machine;
    EXPECT_EQ(found.wrong, 0) << machine;
  }
}

/// Calls of `lists` lists of counts in turns. The row of rank 0 never changes.
Found take_turns(const char* machine, unsigned lists) {
  const Sizes sizes = [lists](unsigned call, int from, int to) -> std::size_t {
    const unsigned list = from == 0 || to == 0 ? 0 : call % lists;
    return 1 + mixed(list, from, to) % 3000;
  };
  return make_calls(machine, "sa", 10 * lists, 20 * lists, sizes);
}

TEST(CountsInTurns, ArePlannedOncePerList) {
  for (const char* machine : {"2x2", "2x3", "1+3"}) {
    const Found few = take_turns(machine, 5);
    EXPECT_EQ(few.errors, none(hierarchy::Machine::parse(machine).ranks())) << machine;
    EXPECT_EQ(few.wrong, 0) << machine;
    EXPECT_EQ(few.allocations, 0) << machine;
    const Found many = take_turns(machine, 9);
    EXPECT_EQ(many.wrong, 0) << machine;
    EXPECT_GT(many.allocations, 0) << machine << ": no more than 8 plans are kept";
  }
}

}  // namespace
}  // namespace weft::counts_test
