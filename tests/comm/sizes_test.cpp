// Calls of many sizes: ranks agree about a few of them, and none is wrong.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "hierarchy/machine.hpp"
#include "tests/comm/run_ranks.hpp"

namespace weft {
namespace {

using test::none;
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

Options on(const std::string& machine) {
  const auto parsed = hierarchy::Machine::parse(machine);
  Options options;
  options.node_of_rank.assign(parsed.node_of_rank().begin(), parsed.node_of_rank().end());
  return options;
}

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

INSTANTIATE_TEST_SUITE_P(Machines, ManySizes, testing::Values("1x2", "1x4", "2x2"));

}  // namespace
}  // namespace weft
