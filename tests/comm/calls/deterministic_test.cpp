// Options::deterministic: no bit of a reduction depends on where its ranks are.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::deterministic_test {
namespace {

constexpr int kRanks = 6;
// Around where algorithms change, powers of two and not.
constexpr std::size_t kSizes[] = {1, 7, 63, 64, 65, 75, 100, 127, 128, 500, 3000, 20'000};

/// Rounding shows how operands were grouped; with `commutative` unsaid, algorithms that keep the
/// order are taken.
Operation sum(bool commutative) {
  Operation operation;
  operation.element_bytes = sizeof(double);
  operation.commutative = commutative;
  operation.combine = [](const void*, std::byte* dst, const std::byte* left, const std::byte* right,
                         std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
      double x = 0, y = 0;
      std::memcpy(&x, left + i * sizeof x, sizeof x);
      std::memcpy(&y, right + i * sizeof y, sizeof y);
      x += y;
      std::memcpy(dst + i * sizeof x, &x, sizeof x);
    }
  };
  return operation;
}

/// The results of one rank from every reduction, of every size, one after the other.
std::vector<double> all_results(Communicator& comm) {
  std::vector<double> results;
  const auto rank = static_cast<unsigned>(comm.rank());
  for (const bool commutative : {true, false}) {
    const Operation operation = sum(commutative);
    for (const std::size_t count : kSizes) {
      std::mt19937_64 random(count * kRanks + rank);
      std::vector<double> input(count * kRanks);
      for (double& x : input) {
        x = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 64) - 100);
      }
      std::vector<double> output(count);
      const auto keep = [&] { results.insert(results.end(), output.begin(), output.end()); };
      comm.allreduce(input.data(), output.data(), count, operation);
      keep();
      const int root = static_cast<int>(count % kRanks);
      comm.reduce(input.data(), output.data(), count, operation, root);
      if (comm.rank() == root) keep();
      comm.reduce_scatter(input.data(), output.data(), count, operation);
      keep();
      comm.scan(input.data(), output.data(), count, operation);
      keep();
      comm.exscan(input.data(), output.data(), count, operation);
      if (comm.rank() != 0) keep();
    }
  }
  return results;
}

std::vector<std::vector<double>> results_on(const char* machine, bool deterministic) {
  const auto parsed = hierarchy::Machine::parse(machine);
  Options options;
  options.node_of_rank.assign(parsed.node_of_rank().begin(), parsed.node_of_rank().end());
  options.deterministic = deterministic;
  std::vector<std::vector<double>> results(kRanks);
  const auto errors = test::run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), options);
    results[rank] = all_results(comm);
  });
  EXPECT_EQ(errors, test::none(kRanks)) << machine;
  return results;
}

TEST(Deterministic, ReductionsHaveTheSameBitsOnEveryPlacement) {
  const auto expected = results_on("1x6", true);
  for (const char* machine : {"2x3", "3x2", "6x1", "1+2+3", "0,1,0,1,2,0"}) {
    EXPECT_TRUE(results_on(machine, true) == expected) << machine;
  }
}

/// Shows that the test above can fail.
TEST(Deterministic, OtherReductionsMayDiffer) {
  EXPECT_FALSE(results_on("2x3", false) == results_on("3x2", false));
}

}  // namespace
}  // namespace weft::deterministic_test
