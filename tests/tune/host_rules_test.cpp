// Files for MPIs, read as those MPIs read them, and the measuring of their ranks.
#include <cstring>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "tune/hosts/host_job.hpp"
#include "tune/hosts/mpich_selection.hpp"
#include "tune/hosts/openmpi_rules.hpp"
#include "tune/hosts/rank_target.hpp"

namespace weft::tune::host_rules_test {
namespace {

using plan::Collective;
using Json = nlohmann::ordered_json;

HostRules any_rules(Collective collective) {
  HostRules rules{collective, {}};
  std::uint64_t end = 0;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    end += *rc::gen::inRange<std::uint64_t>(1, 10'000);
    rules.rules.push_back({i + 1 < count ? end : HostRule::kAnyBytes, i % 2 == 0 ? "ring" : "",
                           i % 2 == 0 ? 1 + i : 0, static_cast<std::uint64_t>(i) * 1024});
  }
  return rules;
}

const HostRule& rule_for(const HostRules& rules, std::uint64_t bytes) {
  return *std::ranges::find_if(rules.rules,
                               [&](const HostRule& one) { return bytes <= one.up_to_bytes; });
}

/// The algorithm and segment by coll/tuned's way: of communicator sizes, and of message sizes, the
/// last that is not more.
std::pair<long, long> follow(const std::string& file, long identity, long ranks,
                             std::uint64_t bytes) {
  std::istringstream lines(file);
  std::string numbers;
  for (std::string line; std::getline(lines, line);) {
    numbers += line.substr(0, line.find('#')) + " ";
  }
  std::istringstream words(numbers);
  const auto next = [&] {
    std::uint64_t value = 0;
    words >> value;
    return value;
  };
  std::pair<long, long> chosen{-1, -1};
  for (auto collectives = next(); collectives > 0; --collectives) {
    const bool is_it = static_cast<long>(next()) == identity;
    for (auto sizes = next(); sizes > 0; --sizes) {
      const bool fits = static_cast<long>(next()) <= ranks;
      for (auto rules = next(); rules > 0; --rules) {
        const auto from = next(), algorithm = next();
        next();
        const auto segment = next();
        if (is_it && fits && from <= bytes) chosen = {algorithm, segment};
      }
    }
  }
  std::string rest;
  RC_ASSERT(!(words >> rest));
  return chosen;
}

RC_GTEST_PROP(OpenMpiRules, AreFollowedForTheirCommunicatorsAlone, ()) {
  const HostRules bcast = any_rules(Collective::broadcast);
  const HostRules alltoall = any_rules(Collective::alltoall);
  const int ranks = *rc::gen::inRange(2, 100);
  const std::string file = openmpi::rules_file(std::vector{bcast, alltoall}, ranks, "a test");
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 40'000);
  const HostRule& rule = rule_for(bcast, bytes);
  RC_ASSERT(follow(file, 7, ranks, bytes) ==
            std::pair(static_cast<long>(rule.number), static_cast<long>(rule.segment)));
  // By the bytes of all blocks.
  const HostRule& other = rule_for(alltoall, bytes);
  RC_ASSERT(follow(file, 3, ranks, bytes * static_cast<std::uint64_t>(ranks)).first ==
            other.number);
  for (const int others : {1, ranks - 1, ranks + 1, 2 * ranks}) {
    if (others != ranks) RC_ASSERT(follow(file, 7, others, bytes).first == 0);
  }
}

TEST(OpenMpiRules, HaveSegmentsWhereAlgorithmsCutTheirData) {
  EXPECT_TRUE(openmpi::is_segmented(Collective::broadcast, "pipeline"));
  EXPECT_FALSE(openmpi::is_segmented(Collective::broadcast, "scatter_allgather"));
  EXPECT_FALSE(openmpi::is_segmented(Collective::alltoall, "pairwise"));
}

/// The leaf that MPICH reaches: of the keys of a level the first that holds.
std::string leaf_of(const Json& tree, int ranks, std::uint64_t bytes, bool commutative) {
  for (const auto& [key, below] : tree.items()) {
    if (key.starts_with("algorithm=")) return key.substr(10);
    const auto number = [&](const char* prefix) { return std::stoull(key.substr(strlen(prefix))); };
    bool holds = key.ends_with("=any");
    if (key.starts_with("comm_size<=")) {
      holds = static_cast<unsigned>(ranks) <= number("comm_size<=");
    } else if (key.starts_with("comm_size<")) {
      holds = static_cast<unsigned>(ranks) < number("comm_size<");
    } else if (key.starts_with("avg_msg_size<=")) {
      holds = bytes <= number("avg_msg_size<=");
    } else if (key.starts_with("is_commutative=")) {
      holds = commutative == key.ends_with("yes");
    } else if (key.starts_with("is_op_built_in=")) {
      holds = key.ends_with("yes");
    }
    if (holds) return leaf_of(below, ranks, bytes, commutative);
  }
  return "";
}

constexpr const char* kOwnSelection =
    R"({"collective=allreduce": {"comm_type=intra": {"algorithm=own": {}}},
        "collective=bcast": {"comm_type=intra": {"algorithm=own": {}}}})";

RC_GTEST_PROP(MpichSelection, IsFollowedForItsCommunicatorsAlone, ()) {
  const HostRules rules = any_rules(Collective::allreduce);
  const int ranks = *rc::gen::inRange(2, 100);
  const Json all = Json::parse(mpich::selection_file(kOwnSelection, std::vector{rules}, ranks));
  const Json& tree = all.at("collective=allreduce").at("comm_type=intra");
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 40'000);
  const HostRule& rule = rule_for(rules, bytes);
  RC_ASSERT(leaf_of(tree, ranks, bytes, true) ==
            (rule.algorithm.empty() ? "own" : "MPIR_Allreduce_intra_ring"));
  RC_ASSERT(leaf_of(tree, ranks, bytes, false) == "own");
  RC_ASSERT(leaf_of(tree, ranks - 1, bytes, true) == "own");
  RC_ASSERT(leaf_of(tree, ranks + 1, bytes, true) == "own");
  RC_ASSERT(all.at("collective=bcast") == Json::parse(kOwnSelection).at("collective=bcast"));
}

TEST(MpichSelection, ScattersVectorsOnlyWhereEachRankHasAnElement) {
  const HostRules rules{Collective::allreduce,
                        {{HostRule::kAnyBytes, "reduce_scatter_allgather", 4, 0}}};
  const std::string text = mpich::selection_file(kOwnSelection, std::vector{rules}, 4);
  EXPECT_NE(text.find("count<pow2"), std::string::npos);
  EXPECT_NE(text.find("algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather"),
            std::string::npos);
}

/// Ranks that take 3 us (the second) or 1 us, and refuse an algorithm on the last.
class FakeJob final : public HostJob {
 public:
  explicit FakeJob(std::unique_ptr<Bootstrap> bootstrap) : bootstrap_(std::move(bootstrap)) {}

  Bootstrap& bootstrap() override { return *bootstrap_; }
  std::string version() const override { return "Fake 1"; }
  std::string library() const override { return ""; }
  std::string host() const override { return "host" + std::to_string(bootstrap_->rank() / 2); }
  std::vector<std::string> algorithms(const std::string& /*collective*/) const override {
    return {"own", "fine", "refused"};
  }
  bool prepare(const MeasuredCall& call) override {
    ++prepared;
    return call.algorithm != "refused" || bootstrap_->rank() + 1 < bootstrap_->size();
  }
  std::vector<double> run(int calls) override {
    return std::vector<double>(static_cast<std::size_t>(calls),
                               bootstrap_->rank() == 1 ? 3000 : 1000);
  }
  bool keeps_order(const MeasuredCall& /*call*/) override { return bootstrap_->rank() != 1; }

  int prepared = 0;

 private:
  std::unique_ptr<Bootstrap> bootstrap_;
};

TEST(RankTarget, MeasuresTheSlowestRankAndEndsTheOthers) {
  std::vector<std::unique_ptr<FakeJob>> jobs;
  for (auto& one : thread_bootstraps(4)) jobs.push_back(std::make_unique<FakeJob>(std::move(one)));
  std::vector<std::jthread> others;
  for (std::size_t rank = 1; rank < jobs.size(); ++rank) {
    others.emplace_back([&jobs, rank] { serve(*jobs[rank]); });
  }
  {
    RankTarget target(*jobs.front());
    EXPECT_EQ(target.hosts(), (std::vector<std::string>{"host0", "host0", "host1", "host1"}));
    EXPECT_TRUE(target.can_run({"bcast", 8, "fine", 0, false}));
    EXPECT_FALSE(target.can_run({"bcast", 8, "refused", 0, false}));
    EXPECT_FALSE(target.keeps_order({"reduce", 8, "fine", 0, false}));
    EXPECT_DOUBLE_EQ(target.time({"bcast", 8, "fine", 0, false}).value().ns, 3000);
    EXPECT_FALSE(target.time({"bcast", 8, "refused", 0, false}));
  }
  others.clear();  // joins
  EXPECT_EQ(jobs.back()->prepared, 4);
}

}  // namespace
}  // namespace weft::tune::host_rules_test
