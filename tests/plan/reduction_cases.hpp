// Small correct reductions, written for the tests of the plan room alone.
#pragma once

#include "tests/plan/cases.hpp"

namespace weft::plan::testing {

/// Everyone to the root, which reduces in rank order.
Case star_reduce(const Problem& problem, std::vector<int> node_of_rank);
/// Recursive doubling; the ranks above the last power of two fold into their left neighbours.
Case doubling_allreduce(const Problem& problem, std::vector<int> node_of_rank);
/// Inside a node through stages, between the first ranks of nodes a ring of partial results, then
/// back through the first rank's output. For nodes in blocks.
Case node_allreduce(const Problem& problem, std::vector<int> node_of_rank);
/// Every block straight to its owner, which reduces in rank order.
Case direct_reduce_scatter(const Problem& problem, std::vector<int> node_of_rank);
/// From rank to rank.
Case chain_scan(const Problem& problem, std::vector<int> node_of_rank);

/// One of the above on a random machine of 1 to `max_ranks` ranks, commutative or not.
Case random_reduction(std::mt19937& random, int max_ranks);

}  // namespace weft::plan::testing
