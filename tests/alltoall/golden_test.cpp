// Plans as text, reviewed by people: registry::compare() says how to write them anew.
#include "tests/registry/golden.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall::golden_test {
namespace {

const registry::Golden kCases[] = {
    {"sa_2x2", Collective::alltoall, "sa", "2x2"},
    {"sa_direct_2x2", Collective::alltoall, "sa:direct=1", "2x2"},
    {"sa_1+3", Collective::alltoall, "sa", "1+3"},
    {"rd_2x2", Collective::alltoall, "rd", "2x2"},
    {"leader_2x2", Collective::alltoall, "leader", "2x2"},
    {"bruck_5", Collective::alltoall, "bruck", "5x1"},
    {"factors_12", Collective::alltoall, "factors:radix=3", "12x1", {0, 7}},
    {"two_step_2x2x2", Collective::alltoall, "two-step", "2x2x2", {0, 1}},
};

class Golden : public testing::TestWithParam<registry::Golden> {};

TEST_P(Golden, IsAsReviewed) {
  compare(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases), registry::name_of);

}  // namespace
}  // namespace weft::alltoall::golden_test
