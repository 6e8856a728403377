// Small correct alltoalls, written for the tests of the plan room alone: one for each way in which
// plans use memory and order.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::plan::testing {

struct Case {
  std::string name;
  Problem problem;
  std::vector<int> node_of_rank;
  std::vector<Plan> plans;
};

/// `nodes` nodes of `ranks_per_node` consecutive ranks.
std::vector<int> even_nodes(int nodes, int ranks_per_node);
/// Any placement: uneven, interleaved, nodes of one rank.
std::vector<int> random_nodes(std::mt19937& random, int ranks);

/// Block `index` of a rank's input or output.
Slice block(const Problem& problem, Space space, int owner, int index);

/// All messages at once.
Case direct(const Problem& problem, std::vector<int> node_of_rank);
/// Ranks - 1 steps, each after the one before; to rank + step, from rank - step.
Case ring(const Problem& problem, std::vector<int> node_of_rank);
/// Bruck of radix 2 through scratch.
Case bruck(const Problem& problem, std::vector<int> node_of_rank);
/// Inside nodes in two halves of each block through stages that the second half uses again;
/// between nodes direct.
Case staged(const Problem& problem, std::vector<int> node_of_rank);
/// Inside nodes straight from the peers' inputs, between signals; between nodes direct.
Case visiting(const Problem& problem, std::vector<int> node_of_rank);
/// Aggregates in the stages of a node, then one message for each other node. Nodes of one size.
Case aggregated(const Problem& problem, std::vector<int> node_of_rank);

/// One of the above on a random machine of 1 to `max_ranks` ranks.
Case random_case(std::mt19937& random, int max_ranks);

}  // namespace weft::plan::testing
