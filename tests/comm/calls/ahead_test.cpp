// Ranks that only send run ahead of those that receive, and nothing is overwritten on its way.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <thread>

#include "comm/setup/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::ahead_test {
namespace {

using test::none;
using test::run_ranks;

/// Element `i` that rank `rank` sends to rank `other` in call number `call`.
std::uint32_t value(int call, int rank, int other, std::size_t i) {
  return static_cast<std::uint32_t>(call) * 1'000'003u + static_cast<std::uint32_t>(rank) * 8191u +
         static_cast<std::uint32_t>(other) * 127u + static_cast<std::uint32_t>(i);
}

class Caller {
 public:
  Caller(Communicator& comm, int call, std::size_t elements)
      : comm_(comm),
        call_(call),
        elements_(elements),
        input_(elements * static_cast<std::size_t>(comm.size())),
        output_(input_.size()) {}

  void broadcast(int root) {
    if (comm_.rank() == root) fill(input_, root, 0);
    comm_.broadcast(input_.data(), bytes(), root);
    if (comm_.rank() != root) expect(input_, 0, root, 0);
  }
  void gather(int root) {
    fill(input_, comm_.rank(), root);
    comm_.gather(input_.data(), output_.data(), bytes(), root);
    if (comm_.rank() != root) return;
    for (int rank = 0; rank < comm_.size(); ++rank) expect(output_, rank, rank, root);
  }
  void scatter(int root) {
    if (comm_.rank() == root) fill_all(root);
    comm_.scatter(input_.data(), output_.data(), bytes(), root);
    expect(output_, 0, root, comm_.rank());
  }
  void alltoall() {
    fill_all(comm_.rank());
    comm_.alltoall(input_.data(), output_.data(), bytes());
    for (int rank = 0; rank < comm_.size(); ++rank) expect(output_, rank, rank, comm_.rank());
  }

 private:
  std::size_t bytes() const { return elements_ * sizeof(std::uint32_t); }
  void fill(std::vector<std::uint32_t>& to, int rank, int other, std::size_t block = 0) {
    for (std::size_t i = 0; i < elements_; ++i) {
      to[block * elements_ + i] = value(call_, rank, other, i);
    }
  }
  void fill_all(int rank) {
    for (int other = 0; other < comm_.size(); ++other) {
      fill(input_, rank, other, static_cast<std::size_t>(other));
    }
  }
  void expect(const std::vector<std::uint32_t>& from, int block, int rank, int other) {
    for (std::size_t i = 0; i < elements_; ++i) {
      ASSERT_EQ(from[static_cast<std::size_t>(block) * elements_ + i], value(call_, rank, other, i))
          << "call " << call_ << ", from rank " << rank << " to " << other << ", element " << i;
    }
  }

  Communicator& comm_;
  int call_;
  std::size_t elements_;
  std::vector<std::uint32_t> input_, output_;
};

/// Calls in an order that a seed gives: of small blocks, which go in inline messages, and of larger
/// ones, which go through stages or are read where they lie.
void call_at_random(Communicator& comm, unsigned seed) {
  std::mt19937 shared(seed);
  std::mt19937 own(seed + 1 + static_cast<unsigned>(comm.rank()));
  const auto one_of = [&shared](unsigned count) { return static_cast<int>(shared() % count); };
  int root = 0;
  for (int call = 0; call < 400; ++call) {
    // For some calls in a row one rank sends and nobody answers.
    if (one_of(20) == 0) root = one_of(static_cast<unsigned>(comm.size()));
    const std::size_t elements = one_of(10) != 0 ? 2 : one_of(2) != 0 ? 200 : 8000;
    const int kind = one_of(40);
    if (own() % 50 == 0) std::this_thread::yield();
    Caller caller(comm, call, elements);
    if (kind == 0) {
      caller.alltoall();
    } else if (kind < 14) {
      caller.broadcast(root);
    } else if (kind < 27) {
      caller.scatter(root);
    } else {
      caller.gather(root);
    }
  }
}

class AheadOf : public testing::TestWithParam<int> {};

/// Ranks share cores or not: they may run further ahead where they do.
void call_in_any_order(int ranks, bool crowded) {
  const auto errors = run_ranks(ranks, [crowded](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options;
    options.crowded = crowded;
    Communicator comm(std::move(bootstrap), options);
    for (unsigned seed = 1; seed <= 4; ++seed) call_at_random(comm, seed);
  });
  EXPECT_EQ(errors, none(ranks));
}

TEST_P(AheadOf, CallsInAnyOrderKeepTheirBytes) {
  call_in_any_order(GetParam(), false);
}

TEST_P(AheadOf, CallsInAnyOrderKeepTheirBytesWhereRanksShareCores) {
  call_in_any_order(GetParam(), true);
}

/// As an add-on sets up the communicator of all ranks, which share cores.
Options options_of_all(int ranks) {
  comm::Facts facts{.settings = comm::Settings::from_environment(),
                    .machine = hierarchy::Machine::uniform(1, ranks),
                    .waiting = {true, "sleep"},
                    .any_crowded = true,
                    .busiest_host = {},
                    .is_of_all_ranks = true};
  Options options;
  options.facts = std::make_shared<const comm::Facts>(std::move(facts));
  return options;
}

TEST_P(AheadOf, CallsInAnyOrderKeepTheirBytesInTheCommunicatorOfAll) {
  const int ranks = GetParam();
  const auto errors = run_ranks(ranks, [ranks](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), options_of_all(ranks));
    for (unsigned seed = 1; seed <= 4; ++seed) call_at_random(comm, seed);
  });
  EXPECT_EQ(errors, none(ranks));
}

/// Rank 0 sends by so many short broadcasts before the others come to the first of them. If it had
/// to wait for them, they would come after a while, and find it missing.
void send_ahead(int ranks, int calls, const Options& options) {
  std::promise<void> sent;
  const auto is_sent = sent.get_future().share();
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), options);
    std::uint64_t value = 0;
    comm.broadcast(&value, sizeof value, 0);  // the first is prepared together
    comm.barrier();
    if (rank != 0) {
      EXPECT_EQ(is_sent.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    }
    for (int call = 0; call < calls; ++call) {
      std::uint64_t number = rank == 0 ? static_cast<std::uint64_t>(call) : 0;
      comm.broadcast(&number, sizeof number, 0);
      EXPECT_EQ(number, static_cast<std::uint64_t>(call));
    }
    if (rank == 0) sent.set_value();
  });
  EXPECT_EQ(errors, none(ranks));
}

TEST(Ahead, RanksThatShareCoresMaySendFifteenCallsAhead) {
  Options options;
  options.crowded = true;
  send_ahead(2, 15, options);
}

TEST(Ahead, RanksThatShareCoresMaySendFarAheadInTheCommunicatorOfAll) {
  send_ahead(4, 63, options_of_all(4));
  send_ahead(8, 31, options_of_all(8));
}

// 17: more ranks than have room for many inline messages.
INSTANTIATE_TEST_SUITE_P(Ranks, AheadOf, testing::Values(2, 3, 6, 17));

}  // namespace
}  // namespace weft::ahead_test
