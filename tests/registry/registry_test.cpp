#include <gtest/gtest.h>

#include <set>

#include "hierarchy/groups.hpp"
#include "registry/all_algorithms.hpp"
#include "registry/variants.hpp"
#include "tests/registry/support.hpp"

namespace weft::registry::registry_test {
namespace {

using algorithm::Parameter;
using plan::Collective;

TEST(Tables, EveryRowHasOneNameAndASummary) {
  for (const Collective collective : plan::all_collectives()) {
    std::set<std::string_view> seen;
    const auto expect_row = [&](const auto& row, bool is_flat) {
      const auto algorithm = Algorithm::parse(collective, row.name);
      EXPECT_EQ(algorithm.name(), row.name);
      EXPECT_EQ(algorithm.is_flat(), is_flat);
      EXPECT_FALSE(row.summary.empty()) << row.name;
      EXPECT_TRUE(seen.insert(row.name).second) << to_string(collective) << " " << row.name;
    };
    for (const auto* flat : flat_algorithms(collective)) expect_row(*flat, true);
    for (const auto* scheme : schemes(collective)) expect_row(*scheme, false);
  }
}

TEST(Tables, ASchemeOfSeveralCollectivesIsOneRow) {
  std::set<const Scheme*> leaders;
  for (const Collective collective : plan::all_collectives()) {
    for (const Scheme* scheme : schemes(collective)) {
      if (scheme->name == "leader") leaders.insert(scheme);
    }
  }
  ASSERT_EQ(leaders.size(), 1u);
  EXPECT_EQ((*leaders.begin())->forms().size(), plan::all_collectives().size() - 1);  // alltoallv
}

TEST(Tables, StepsInsideNodesHaveSummaries) {
  for (const Collective collective : plan::all_collectives()) {
    for (const Scheme* scheme : schemes(collective)) {
      for (const auto& step : scheme->find(collective)->inside) {
        EXPECT_FALSE(step.summary.empty()) << step.name;
      }
    }
  }
}

TEST(Algorithm, HasDefaultSteps) {
  const auto leader = Algorithm::parse(Collective::scan, "leader");
  ASSERT_NE(leader.parameters().between, nullptr);
  EXPECT_EQ(leader.parameters().between->name, "doubling");
  EXPECT_EQ(leader.parameters().inside, nullptr);
  const auto multi = Algorithm::parse(Collective::scatter, "multi-object");
  EXPECT_EQ(multi.parameters().between, nullptr);
  ASSERT_NE(multi.parameters().inside, nullptr);
  EXPECT_EQ(multi.parameters().inside->name, "staged");
}

TEST(Algorithm, TakesTheParametersOfItsStepBetweenNodes) {
  const auto isend = Algorithm::parse(Collective::alltoall, "sa");
  EXPECT_TRUE(isend.reads(Parameter::window));
  EXPECT_FALSE(isend.reads(Parameter::radix));
  const auto bruck = Algorithm::parse(Collective::alltoall, "sa:between=bruck");
  EXPECT_FALSE(bruck.reads(Parameter::window));
  EXPECT_TRUE(bruck.reads(Parameter::radix));
}

TEST(Algorithm, IsForOneCollective) {
  EXPECT_FALSE(Algorithm::parse(Collective::scatter, "chain") ==
               Algorithm::parse(Collective::gather, "chain"));
  const auto machine = hierarchy::Machine::uniform(1, 2);
  const auto scan = Algorithm::parse(Collective::scan, "chain");
  EXPECT_EQ(error_of([&] { scan.plan(plan::Problem::alltoall(2, 8), machine, 0); }),
            "an algorithm for scan asked for alltoall");
  // Alltoall and alltoallv have the same ones.
  const auto sa = Algorithm::parse(Collective::alltoallv, "sa");
  EXPECT_EQ(error_of([&] { sa.plan(plan::Problem::alltoall(2, 8), machine, 0); }), "no error");
}

/// Every value that a name may have for a parameter is read back.
TEST(ParameterTable, ReadsWhatItWrites) {
  Parameters some;
  some.leaders = hierarchy::kSocketLeaders;
  some.cores = 3;
  some.direct = true;
  some.aggregate = 4096;
  some.radix = 5;
  some.window = 6;
  some.arity = 7;
  some.segment = 8;
  some.latency = 9;
  const auto steps = Algorithm::parse(Collective::gather, "leader").parameters();
  some.between = steps.between;
  some.inside = steps.inside;
  Parameters read;
  for (const ParameterRow& row : parameter_table()) {
    const Steps known{flat_algorithms(Collective::gather),
                      schemes(Collective::gather).front()->find(Collective::gather)->inside};
    row.parse(read, row.key, row.format(some), known);
    EXPECT_EQ(row.format(read), row.format(some)) << row.key;
  }
  EXPECT_EQ(read, some);
}

TEST(Variants, HaveEachNameOnceAndReadItBack) {
  for (const Collective collective : plan::all_collectives()) {
    for (const int ranks : {1, 2, 3, 5, 40}) {
      std::set<std::string> seen;
      for (const Algorithm& algorithm : variants(collective, ranks)) {
        EXPECT_TRUE(seen.insert(algorithm.name()).second) << algorithm.name();
        EXPECT_EQ(Algorithm::parse(collective, algorithm.name()), algorithm) << algorithm.name();
      }
    }
  }
}

/// No variant is there twice under two names.
TEST(Variants, DifferInTheirParameters) {
  for (const Collective collective : plan::all_collectives()) {
    const auto all = variants(collective, 5);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(all[i] == all[j]) << all[i].name();
    }
  }
}

}  // namespace
}  // namespace weft::registry::registry_test
