// Plans as text, reviewed by people: registry::compare() says how to write them anew.
#include "tests/registry/golden.hpp"
#include "tests/gather/support.hpp"

namespace weft::gather::golden_test {
namespace {

// The worked examples of PiP-MColl: its allgather for small blocks on 16 nodes with 3 objects
// (Figure 3), of which node 0 is shown, and 5 nodes, where the last round has a remainder; for
// large blocks on 3 nodes with 3 objects (Figure 4); its scatter.
const registry::Golden kCases[] = {
    {"broadcast_binomial_6", Collective::broadcast, "binomial", "6x1", {}, 8, 2},
    {"broadcast_chain_segments_3", Collective::broadcast, "chain:segment=4", "3x1"},
    {"broadcast_leader_2x2", Collective::broadcast, "leader", "2x2", {}, 8, 1},
    {"broadcast_bine_8", Collective::broadcast, "bine", "8x1"},
    {"scatter_binomial_6", Collective::scatter, "binomial", "6x1"},
    {"scatter_multi_object_9x2", Collective::scatter, "multi-object", "9x2", {0, 1, 6, 7, 8}},
    {"gather_leader_2x2", Collective::gather, "leader", "2x2"},
    {"allgather_doubling_5", Collective::allgather, "doubling", "5x1"},
    {"allgather_neighbor_6", Collective::allgather, "neighbor", "6x1"},
    {"allgather_bine_8", Collective::allgather, "bine", "8x1", {0, 3}},
    {"allgather_bine_5", Collective::allgather, "bine", "5x1", {0, 1, 2}},
    {"allgather_multi_object_16x3", Collective::allgather, "multi-object", "16x3", {0, 1, 2}},
    {"allgather_multi_object_5x3", Collective::allgather, "multi-object", "5x3", {0, 1, 2}},
    {"allgather_ring_of_all_3x3",
     Collective::allgather,
     "leader:leaders=all,inside=direct",
     "3x3",
     {0, 1, 2}},
    {"barrier_dissemination_5", Collective::barrier, "dissemination", "5x1", {}, 0},
    {"barrier_tournament_4", Collective::barrier, "tournament", "4x1", {}, 0},
    {"barrier_leader_2x3", Collective::barrier, "leader", "2x3", {}, 0},
};

class Golden : public testing::TestWithParam<registry::Golden> {};

TEST_P(Golden, IsAsReviewed) {
  compare(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases), registry::name_of);

}  // namespace
}  // namespace weft::gather::golden_test
