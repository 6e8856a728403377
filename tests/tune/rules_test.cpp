// The classical rules follow from the model alone: the choice knows no classes of adapters.
// (Kumar, Mamidala and Panda, sections 5 and 7.)
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "nic_profiles/profile.hpp"
#include "registry/algorithm.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune::rules_test {
namespace {

using hierarchy::Machine;
using nic_profiles::Kind;

/// Predicted times of alltoall, by algorithm.
class Times {
 public:
  Times(const std::string& adapter, const Machine& machine, std::uint64_t bytes)
      : ppn_(machine.widest()),
        list_(choose(plan::Problem::alltoall(machine.ranks(), bytes), Facts{machine},
                     nic_profiles::load(adapter).hardware)) {
    const auto problem = plan::Problem::alltoall(machine.ranks(), bytes);
    for (const char* name : {"sa", "rd", "leader", "isend"}) {
      const auto algorithm = Algorithm::parse(plan::Collective::alltoall, name);
      const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine, rank); };
      by_name_[name] =
          sim::simulate(plan_of, machine, nic_profiles::load(adapter).hardware).time_ns;
    }
  }

  std::string best() const { return list_.front().algorithm.name(); }
  double best_ns() const { return list_.front().time_ns; }
  double of(const std::string& name) const { return by_name_.at(name); }
  /// The better of SA and RD, in which all cores send.
  double all_cores() const { return std::min(of("sa"), of("rd")); }
  /// The number of ranks of a node that send, in the best algorithm.
  int senders() const {
    const auto algorithm = Algorithm::parse(plan::Collective::alltoall, best());
    const auto& parameters = algorithm.parameters();
    if (algorithm.name().starts_with("leader")) return std::min(parameters.leaders, ppn_);
    return parameters.cores == 0 ? ppn_ : std::min(parameters.cores, ppn_);
  }

 private:
  int ppn_;
  std::vector<Prediction> list_;
  std::map<std::string, double> by_name_;
};

class EveryAdapter : public testing::TestWithParam<std::string> {};

TEST_P(EveryAdapter, AggregatesSmallBlocksByTheCoresThatSuitItsClass) {
  const Times times(GetParam(), Machine::uniform(16, 8), 64);
  const Kind kind = nic_profiles::load(GetParam()).kind;
  EXPECT_FALSE(Algorithm::parse(plan::Collective::alltoall, times.best()).is_flat())
      << times.best();
  EXPECT_LT(times.best_ns(), times.of("isend"));
  if (kind == Kind::offload_degrading) {
    // More senders hurt: leaders.
    EXPECT_LT(times.senders(), 8) << times.best();
    EXPECT_LT(times.of("leader"), times.all_cores());
  } else {
    // The cores feed the adapter, or it scales: all of them send.
    EXPECT_LE(times.all_cores(), 1.05 * times.best_ns()) << times.best();
    EXPECT_LT(times.all_cores(), times.of("leader"));
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAdapter, testing::ValuesIn(nic_profiles::names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(InfiniHost, TakesLeadersOn64Nodes) {
  for (const std::uint64_t bytes : {16, 64, 128, 512}) {
    const Times times("mt25208", Machine::uniform(64, 8), bytes);
    EXPECT_LT(times.senders(), 8) << bytes << ": " << times.best();
    // One alone copies too much of larger blocks: two are ahead.
    if (bytes > 128) continue;
    EXPECT_LT(times.of("leader"), times.all_cores()) << bytes;
  }
}

// Disagrees with the paper from 256 bytes on: it takes send-side aggregation up to 2 KiB, and did
// not compare pairwise exchange there. Its MPI searched a list of receives, which aggregation
// spares; weft's channel searches none (docs/papers.md has both).
TEST(InfiniPath, TakesAggregationAt128BytesAndPairwiseExchangeFrom256On) {
  for (const std::uint64_t bytes : {128, 256, 512, 1024}) {
    const Times times("qle7140", Machine::uniform(64, 8), bytes);
    EXPECT_EQ(times.best(), bytes == 128 ? "sa" : "pairwise-xor") << bytes;
    EXPECT_LT(times.of("sa"), times.of("rd")) << bytes;
    EXPECT_LT(times.of("sa"), times.of("leader")) << bytes;
    // Of the paper's candidates aggregation is the fastest, up to where it outgrows the flat one.
    EXPECT_EQ(times.of("sa") < times.of("isend"), bytes <= 512) << bytes;
  }
}

TEST(ConnectX, TakesAllCoresOn4Nodes) {
  for (const std::uint64_t bytes : {16, 64, 128}) {
    const Times times("mt25408", Machine::uniform(4, 8), bytes);
    EXPECT_TRUE(times.best() == "sa" || times.best() == "rd") << bytes << ": " << times.best();
    EXPECT_LT(times.all_cores(), times.of("leader")) << bytes;
  }
}

}  // namespace
}  // namespace weft::tune::rules_test
