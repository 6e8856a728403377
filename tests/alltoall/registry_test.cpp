
#include <gtest/gtest.h>

#include "tests/alltoall/support.hpp"

namespace weft::alltoall::registry_test {
namespace {

TEST(Registry, ReadsNamesAndParameters) {
  const auto algorithm = parse("leader:leaders=3,direct=1,between=bruck,radix=4");
  EXPECT_FALSE(algorithm.is_flat());
  EXPECT_EQ(algorithm.parameters().leaders, 3);
  EXPECT_TRUE(algorithm.parameters().direct);
  EXPECT_EQ(algorithm.parameters().between->name, "bruck");
  EXPECT_EQ(algorithm.parameters().radix, 4);
  EXPECT_TRUE(parse("bruck").is_flat());
}

TEST(Registry, NamesAreCanonical) {
  EXPECT_EQ(parse("sa:between=isend,direct=0").name(), "sa");
  EXPECT_EQ(parse("sa:between=isend"), parse("sa"));
  EXPECT_EQ(parse("bruck:radix=2").name(), "bruck");
  EXPECT_EQ(parse("sa:window=3,aggregate=64K,cores=2").name(),
            "sa:cores=2,aggregate=65536,window=3");
  EXPECT_EQ(parse("fat-tree:arity=8").name(), "fat-tree");
  EXPECT_EQ(parse("leader:leaders=all").name(), "leader:leaders=all");
  EXPECT_EQ(parse("leader:leaders=sockets").name(), "leader:leaders=sockets");
  EXPECT_EQ(parse("rd:radix=8,between=bruck,direct=yes").name(),
            "rd:direct=1,between=bruck,radix=8");
  EXPECT_FALSE(parse("sa") == parse("rd"));
}

TEST(Registry, RefusesWhatItDoesNotKnow) {
  const auto error = [](std::string_view text) { return error_of([&] { parse(text); }); };
  EXPECT_EQ(error("fast"),
            "algorithm 'fast' for alltoall: not one of isend, bruck, pairwise-xor, pairwise-ring, "
            "fat-tree, factors, sa, rd, leader, two-step");
  EXPECT_EQ(error(""),
            "algorithm '' for alltoall: not one of isend, bruck, pairwise-xor, pairwise-ring, "
            "fat-tree, factors, sa, rd, leader, two-step");
  EXPECT_EQ(error("bruck:leaders=2"),
            "algorithm 'bruck:leaders=2': parameter 'leaders' is not one of its own (radix)");
  EXPECT_EQ(error("isend:radix=2"),
            "algorithm 'isend:radix=2': parameter 'radix' is not one of its own (window)");
  EXPECT_EQ(
      error("pairwise-xor:radix=2"),
      "algorithm 'pairwise-xor:radix=2': parameter 'radix' is not one of its own (it has none)");
  EXPECT_EQ(error("sa:leaders=2"),
            "algorithm 'sa:leaders=2': parameter 'leaders' is not one of its own (cores, direct, "
            "aggregate, between, window, radix with between=bruck or factors, arity with "
            "between=fat-tree)");
  EXPECT_EQ(error("leader:k=2"),
            "algorithm 'leader:k=2': parameter 'k' is not one of its own (leaders, direct, "
            "aggregate, between, window, radix with between=bruck or factors, arity with "
            "between=fat-tree)");
  EXPECT_EQ(error("sa:radix=4"),
            "algorithm 'sa:radix=4': parameter 'radix' is not one of its own (cores, direct, "
            "aggregate, between, window, radix with between=bruck or factors, arity with "
            "between=fat-tree)");
  EXPECT_EQ(
      error("sa:between=bruck,window=2"),
      "algorithm 'sa:between=bruck,window=2': parameter 'window' is not one of its own (cores, "
      "direct, aggregate, between, radix, window with between=isend, arity with "
      "between=fat-tree)");
  EXPECT_EQ(error("isend:window=0"),
            "algorithm 'isend:window=0': window=0: not a whole number from 1 to 2147483647");
  EXPECT_EQ(error("rd:cores=0"),
            "algorithm 'rd:cores=0': cores=0: not a whole number from 1 to 2147483647");
  EXPECT_EQ(
      error("sa:aggregate=8G"),
      "algorithm 'sa:aggregate=8G': aggregate=8G: not a size from 0 to 4294967296 bytes (K, M, "
      "G, T, P and E are powers of 1024)");
  EXPECT_EQ(error("leader:cores=2").substr(0, 49),
            "algorithm 'leader:cores=2': parameter 'cores' is ");
  EXPECT_EQ(error("sa:between=rd"),
            "algorithm 'sa:between=rd': between=rd: not one of isend, bruck, pairwise-xor, "
            "pairwise-ring, fat-tree, factors");
  EXPECT_EQ(error("bruck:radix=1"),
            "algorithm 'bruck:radix=1': radix=1: not a whole number from 2 to 2147483647");
  EXPECT_EQ(error("leader:leaders=0"),
            "algorithm 'leader:leaders=0': leaders=0: not a whole number from 1 to 2147483647, all "
            "or sockets");
  EXPECT_EQ(error("sa:direct=2"),
            "algorithm 'sa:direct=2': direct=2: not one of 1, yes, on, true, 0, no, off, false");
  EXPECT_EQ(error("sa:direct=1,direct=0"),
            "algorithm 'sa:direct=1,direct=0': parameter 'direct' is there twice");
  EXPECT_EQ(error("sa:direct"),
            "algorithm 'sa:direct': 'direct' is not of the form parameter=value");
  EXPECT_EQ(error("sa:"), "algorithm 'sa:': '' is not of the form parameter=value");
  EXPECT_EQ(error("sa:direct=1,"),
            "algorithm 'sa:direct=1,': '' is not of the form parameter=value");
}

TEST(Registry, RefusesAProblemThatIsNotForTheMachine) {
  const auto machine = hierarchy::Machine::uniform(2, 2);
  const auto algorithm = parse("sa");
  EXPECT_EQ(error_of([&] { algorithm.plan(plan::Problem::alltoall(5, 8), machine, 0); }),
            "alltoall of 5 ranks on a machine of 4: they must be equal");
  EXPECT_EQ(error_of([&] { algorithm.plan(plan::Problem::alltoall(4, 8), machine, 4); }),
            "alltoall of 4 ranks: rank 4 is not from 0 to 3");
  EXPECT_EQ(error_of([&] {
              algorithm.plan({plan::Collective::alltoall, 4, 8, 7}, machine, 0);
            }),
            "alltoall of blocks of 8 bytes, 7 apart: the distance must be at least the block");
}

}  // namespace
}  // namespace weft::alltoall::registry_test
