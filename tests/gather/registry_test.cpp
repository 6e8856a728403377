#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/gather/support.hpp"

namespace weft::gather::registry_test {
namespace {

TEST(Registry, ReadsNamesAndParameters) {
  const auto algorithm = Algorithm::parse(
      Collective::broadcast, "leader:leaders=3,radix=4,segment=8K,inside=chain,between=binomial");
  EXPECT_FALSE(algorithm.is_flat());
  EXPECT_EQ(algorithm.collective(), Collective::broadcast);
  EXPECT_EQ(algorithm.parameters().leaders, 3);
  EXPECT_EQ(algorithm.parameters().radix, 4);
  EXPECT_EQ(algorithm.parameters().segment, 8192u);
  EXPECT_EQ(algorithm.parameters().inside->name, "chain");
  EXPECT_EQ(algorithm.parameters().between->name, "binomial");
  EXPECT_TRUE(Algorithm::parse(Collective::allgather, "ring").is_flat());
}

TEST(Registry, NamesAreCanonical) {
  const auto name = [](Collective collective, std::string_view text) {
    return Algorithm::parse(collective, text).name();
  };
  EXPECT_EQ(name(Collective::broadcast, "leader:between=binomial,inside=staged"), "leader");
  EXPECT_EQ(name(Collective::broadcast, "chain:segment=64K"), "chain:segment=65536");
  EXPECT_EQ(name(Collective::allgather, "leader:radix=3,inside=direct,between=bruck,leaders=all"),
            "leader:leaders=all,between=bruck,inside=direct,radix=3");
  EXPECT_EQ(name(Collective::barrier, "dissemination:radix=2"), "dissemination");
  EXPECT_FALSE(Algorithm::parse(Collective::scatter, "chain") ==
               Algorithm::parse(Collective::gather, "chain"));
}

TEST(Registry, RefusesWhatItDoesNotKnow) {
  const auto error = [](Collective collective, std::string_view text) {
    return error_of([&] { Algorithm::parse(collective, text); });
  };
  EXPECT_EQ(error(Collective::scatter, "ring"),
            "algorithm 'ring' for scatter: not one of binomial, binary, chain, sequential, leader, "
            "multi-object");
  EXPECT_EQ(error(Collective::broadcast, "chain:radix=3"),
            "algorithm 'chain:radix=3': parameter 'radix' is not one of its own (segment)");
  EXPECT_EQ(error(Collective::allgather, "leader:radix=3"),
            "algorithm 'leader:radix=3': parameter 'radix' is not one of its own (leaders, "
            "between, inside, radix with between=bruck or gather-broadcast)");
  EXPECT_EQ(error(Collective::barrier, "leader:leaders=2"),
            "algorithm 'leader:leaders=2': parameter 'leaders' is not one of its own (between, "
            "inside, radix)");
  EXPECT_EQ(error(Collective::allgather, "ring:leaders=2"),
            "algorithm 'ring:leaders=2': parameter 'leaders' is not one of its own (it has none)");
  EXPECT_EQ(error(Collective::gather, "leader:between=leader"),
            "algorithm 'leader:between=leader': between=leader: not one of binomial, binary, "
            "chain, sequential");
  EXPECT_EQ(error(Collective::barrier, "leader:inside=staged"),
            "algorithm 'leader:inside=staged': inside=staged: not one of sequential, binomial, "
            "binary");
  EXPECT_EQ(error(Collective::gather, "leader:leaders=0"),
            "algorithm 'leader:leaders=0': leaders=0: not a whole number from 1 to 2147483647, all "
            "or sockets");
  EXPECT_EQ(error(Collective::gather, "chain:segment=1,segment=2"),
            "algorithm 'chain:segment=1,segment=2': parameter 'segment' is there twice");
  EXPECT_EQ(error(Collective::gather, "chain:segment"),
            "algorithm 'chain:segment': 'segment' is not of the form parameter=value");
}

TEST(Registry, RefusesAProblemThatIsNotForTheMachine) {
  const auto machine = Machine::uniform(2, 2);
  const auto error = [&](const plan::Problem& problem, int rank) {
    const auto algorithm = Algorithm::parse(Collective::scatter, "leader");
    return error_of([&] { algorithm.plan(problem, machine, rank); });
  };
  EXPECT_EQ(error({Collective::gather, 4, 8, 8}, 0), "an algorithm for scatter asked for gather");
  EXPECT_EQ(error({Collective::scatter, 5, 8, 8}, 0),
            "scatter of 5 ranks on a machine of 4: they must be equal");
  EXPECT_EQ(error({Collective::scatter, 4, 8, 8}, 4),
            "scatter of 4 ranks: rank 4 is not from 0 to 3");
  EXPECT_EQ(error({Collective::scatter, 4, 8, 8, 4}, 0),
            "scatter of 4 ranks: root 4 is not from 0 to 3");
  EXPECT_EQ(error({Collective::scatter, 4, 8, 7}, 0),
            "scatter of blocks of 8 bytes, 7 apart: the distance must be at least the block");
  plan::Problem problem{Collective::scatter, 4, 8, 8};
  problem.layout.resize(3);
  EXPECT_EQ(error(problem, 0), "scatter of 4 ranks with a layout of 3 blocks: they must be equal");
}

}  // namespace
}  // namespace weft::gather::registry_test
