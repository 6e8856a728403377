// Sockets through the public API, ranks as threads: what a communicator knows of them, and schemes
// that go by them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "hierarchy/machine.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::sockets_test {
namespace {

using test::none;
using test::run_ranks;

class WithSockets {
 public:
  explicit WithSockets(const char* setting) { ::setenv("WEFT_SOCKETS", setting, 1); }
  ~WithSockets() { ::unsetenv("WEFT_SOCKETS"); }
};

Options on(const hierarchy::Machine& machine) {
  Options options;
  options.node_of_rank.assign(machine.node_of_rank().begin(), machine.node_of_rank().end());
  return options;
}

std::vector<int> sockets_of(const Communicator& comm) {
  return {comm.socket_of_rank().begin(), comm.socket_of_rank().end()};
}

TEST(Sockets, AreThoseOfTheSetting) {
  const WithSockets setting("2");
  const auto errors = run_ranks(8, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    const Communicator comm(std::move(bootstrap), on(hierarchy::Machine::parse("4+1+3")));
    EXPECT_EQ(sockets_of(comm), (std::vector{0, 0, 1, 1, 2, 3, 3, 4}));
  });
  EXPECT_EQ(errors, none(8));
}

TEST(Sockets, OfTheOptionsComeBeforeTheSetting) {
  const WithSockets setting("2");
  const auto errors = run_ranks(4, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = on(hierarchy::Machine::uniform(1, 4));
    options.socket_of_rank = {7, 3, 3, 7};
    const Communicator comm(std::move(bootstrap), options);
    EXPECT_EQ(sockets_of(comm), (std::vector{0, 1, 1, 0}));
  });
  EXPECT_EQ(errors, none(4));
}

TEST(Sockets, ThatAreInvalidEndEveryRankWithOneLine) {
  const WithSockets setting("some");
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    const Communicator comm(std::move(bootstrap), on(hierarchy::Machine::uniform(1, 2)));
  });
  for (const std::string& error : errors) {
    EXPECT_TRUE(error.starts_with("WEFT_SOCKETS=some: not a whole number")) << error;
  }
  const auto too_few = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = on(hierarchy::Machine::uniform(1, 2));
    options.socket_of_rank = {0};
    const Communicator comm(std::move(bootstrap), options);
  });
  for (const std::string& error : too_few) {
    EXPECT_EQ(error, "socket_of_rank has 1 entries for 2 ranks");
  }
}

void alltoalls(Communicator& comm, std::size_t block, int calls) {
  const auto size = static_cast<std::size_t>(comm.size());
  std::vector<unsigned char> input(block * size), output(block * size), right(block * size);
  const auto byte = [](int from, int to, std::size_t at, int call) {
    return static_cast<unsigned char>(from * 131 + to * 31 + static_cast<int>(at) * 7 + call * 17);
  };
  for (int call = 0; call < calls; ++call) {
    for (std::size_t at = 0; at < input.size(); ++at) {
      const int other = static_cast<int>(at / block);
      input[at] = byte(comm.rank(), other, at % block, call);
      right[at] = byte(other, comm.rank(), at % block, call);
    }
    comm.alltoall(input.data(), output.data(), block);
    ASSERT_EQ(output, right) << "rank " << comm.rank() << ", blocks of " << block;
    comm.alltoall(input.data(), input.data(), block);
    ASSERT_EQ(input, right) << "rank " << comm.rank() << ", in place, blocks of " << block;
  }
}

class SchemesBySocket : public testing::TestWithParam<const char*> {};

TEST_P(SchemesBySocket, ExchangeAllBlocks) {
  for (const char* sockets : {"2", "2:cyclic", "3"}) {
    const WithSockets setting(sockets);
    for (const char* nodes : {"2x4", "1+5+2", "2x3:cyclic", "1x4"}) {
      const auto machine = hierarchy::Machine::parse(nodes);
      const auto errors =
          run_ranks(machine.ranks(), [&](int, std::unique_ptr<Bootstrap> bootstrap) {
            Options options = on(machine);
            options.algorithms["alltoall"] = GetParam();
            Communicator comm(std::move(bootstrap), options);
            for (const std::size_t block : {1u, 8u, 200u, 5000u}) alltoalls(comm, block, 4);
            EXPECT_EQ(test::other_than(GetParam(), "alltoall", comm), "");
          });
      ASSERT_EQ(errors, none(machine.ranks())) << GetParam() << " on " << nodes << "/" << sockets;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Alltoall, SchemesBySocket,
                         testing::Values("two-step", "two-step:direct=1", "two-step:between=bruck",
                                         "two-step:aggregate=100", "leader:leaders=sockets"));

TEST(LeadersBySocket, ReduceAndBroadcast) {
  const WithSockets setting("2");
  const auto errors = run_ranks(7, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = on(hierarchy::Machine::parse("4+3"));
    constexpr const char* kCollectives[] = {"allreduce", "reduce", "broadcast", "allgather"};
    constexpr const char* kAlgorithm = "leader:leaders=sockets";
    for (const char* name : kCollectives) options.algorithms[name] = kAlgorithm;
    Communicator comm(std::move(bootstrap), options);
    for (const std::size_t count : {1u, 10u, 3000u}) {
      std::vector<double> mine(count), sum(count, -1);
      for (std::size_t i = 0; i < count; ++i) mine[i] = comm.rank() + static_cast<double>(i);
      std::vector<double> right(count);
      for (std::size_t i = 0; i < count; ++i) right[i] = 21 + 7 * static_cast<double>(i);
      const Operation add = operation(Operator::sum, Type::float64);
      comm.allreduce(mine.data(), sum.data(), count, add);
      ASSERT_EQ(sum, right);
      std::vector<double> at_root(count, -1);
      comm.reduce(mine.data(), at_root.data(), count, add, 5);
      if (comm.rank() == 5) {
        ASSERT_EQ(at_root, right);
      }
      std::vector<double> all = comm.rank() == 2 ? right : std::vector<double>(count);
      comm.broadcast(all.data(), count * sizeof(double), 2);
      ASSERT_EQ(all, right);
      std::vector<double> gathered(count * 7, -1);
      comm.allgather(mine.data(), gathered.data(), count * sizeof(double));
      for (std::size_t i = 0; i < gathered.size(); ++i) {
        ASSERT_EQ(gathered[i], static_cast<double>(i / count) + static_cast<double>(i % count));
      }
    }
    for (const char* name : kCollectives) EXPECT_EQ(test::other_than(kAlgorithm, name, comm), "");
  });
  EXPECT_EQ(errors, none(7));
}

}  // namespace
}  // namespace weft::sockets_test
