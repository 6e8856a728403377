// Plans as text, reviewed by people: registry::compare() says how to write them anew.
#include "tests/registry/golden.hpp"
#include "tests/reduce/support.hpp"

namespace weft::reduce::golden_test {
namespace {

// 13 processes as Rabenseifner draws them, 8 parts A to H: Fig. 2 and Fig. 3, of which a removed
// process, its partner, one that has none and, for a reduce, the root are shown. PiP-MColl's worked
// examples, of which node 0 is shown: 16 nodes with 3 objects, a power of the base, and 5 nodes
// with 3, which is none; 3 nodes with 3 objects around the ring.
const registry::Golden kCases[] = {
    {"fig2_halving_doubling_13", Collective::allreduce, "halving-doubling", "13x1", {0, 1, 12}, 64},
    {"fig2_halving_doubling_reduce_13",
     Collective::reduce,
     "halving-doubling",
     "13x1",
     {0, 1, 9, 12},
     64,
     9},
    {"fig3_binary_blocks_13", Collective::allreduce, "binary-blocks", "13x1", {0, 8, 12}, 64},
    {"fig3_binary_blocks_reduce_13",
     Collective::reduce,
     "binary-blocks",
     "13x1",
     {0, 8, 9, 12},
     64,
     9},
    {"multi_bruck_16x3", Collective::allreduce, "multi-bruck:direct=1", "16x3", {0, 1, 2}},
    {"multi_bruck_5x3", Collective::allreduce, "multi-bruck:direct=1", "5x3", {0, 1, 2}},
    {"multi_doubling_5x3", Collective::allreduce, "multi-doubling:direct=1", "5x3", {0, 1, 2}},
    {"multi_ring_3x3", Collective::allreduce, "multi-ring:direct=1", "3x3", {0, 1, 2}, 72},
    {"leader_2x2", Collective::allreduce, "leader", "2x2", {}, 16},
    {"leader_all_2x2", Collective::allreduce, "leader:leaders=2", "2x2", {}, 16},
    {"adaptive_6", Collective::allreduce, "adaptive:latency=16", "6x1", {}, 48},
    {"reduce_scatter_halving_5", Collective::reduce_scatter, "recursive-halving", "5x1"},
    {"bine_8", Collective::allreduce, "bine", "8x1", {0, 1, 2}, 64},
    {"bine_doubling_5", Collective::allreduce, "bine-doubling", "5x1", {0, 1, 2}},
    {"reduce_bine_8", Collective::reduce, "bine", "8x1", {}, 8, 2},
    {"reduce_scatter_bine_5", Collective::reduce_scatter, "bine", "5x1"},
    {"leader_scan_2x2", Collective::scan, "leader", "2x2"},
};

class Golden : public testing::TestWithParam<registry::Golden> {};

TEST_P(Golden, IsAsReviewed) {
  compare(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases), registry::name_of);

}  // namespace
}  // namespace weft::reduce::golden_test
