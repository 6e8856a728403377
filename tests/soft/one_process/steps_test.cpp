// The state machine of queue pairs: which steps are legal, and with which attributes.
#include <rapidcheck.h>

#include <array>

#include "tests/soft/states.hpp"

namespace weft::soft::test::steps_test {
namespace {

constexpr std::array kStates = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kConnect = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kStart =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
// Alternate paths are in the specification, but one port has none; they are left out below.
constexpr int kRunning = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;

struct Step {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

// InfiniBand specification 1.4, table 91 ("QP state transition properties"), for software's
// transitions of reliable connections and of datagrams. Any state may go to RESET and to ERROR,
// with no attribute; everything else is illegal.
const std::vector<Step> kRcSteps = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR, kConnect, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_RTR, IBV_QPS_RTS, kStart, kRunning},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kRunning},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kRunning},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0,
     IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
         IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
         IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER}};
const std::vector<Step> kUdSteps = {
    {IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_QKEY, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, kInit | IBV_QP_QKEY},
    {IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY}};

bool is_legal(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  mask &= ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return mask == 0;
  for (const Step& step : type == IBV_QPT_UD ? kUdSteps : kRcSteps) {
    if (step.from != from || step.to != to) continue;
    return (mask & step.required) == step.required &&
           (mask & ~(step.required | step.optional)) == 0;
  }
  return false;
}

/// Values that are right for every attribute, so that the mask alone decides.
ibv_qp_attr right_values(const Endpoint& end, ibv_qp_state from, ibv_qp_state to) {
  ibv_qp_attr attributes = end.ready_to_receive(end.address());
  attributes.qp_state = to;
  attributes.cur_qp_state = from;
  attributes.port_num = 1;
  attributes.qkey = 0x1234;
  attributes.timeout = 14;
  attributes.max_rd_atomic = 1;
  return attributes;
}

/// Tries one step from a fresh QP and checks the answer, and the state after it.
void try_step(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  Options options;
  options.bytes = 8192;
  options.type = type;
  Endpoint end(options);
  ASSERT_NO_FATAL_FAILURE(bring_to(end, from));
  ibv_qp_attr attributes = right_values(end, from, to);
  const bool legal = is_legal(type, from, to, mask);
  ASSERT_EQ(ibv_modify_qp(end.qp, &attributes, mask), legal ? 0 : EINVAL)
      << "type " << type << ", state " << from << " to " << to << ", mask 0x" << std::hex << mask;
  ASSERT_EQ(end.state(), legal ? to : from) << from << " to " << to;
}

class Steps : public ::testing::TestWithParam<ibv_qp_type> {};

/// From each state to each, with the required attributes, each of them left out, and each other
/// attribute added.
TEST_P(Steps, OnlyThoseOfTheSpecificationAreAllowed) {
  for (const ibv_qp_state from : kStates) {
    if (from == IBV_QPS_SQE && GetParam() != IBV_QPT_UD) continue;
    for (const ibv_qp_state to : kStates) {
      int required = 0;
      for (const Step& step : GetParam() == IBV_QPT_UD ? kUdSteps : kRcSteps) {
        // Where no step is legal, attributes that make a legal step from another state are tried.
        if (step.to == to && (required == 0 || step.from == from)) required = step.required;
      }
      ASSERT_NO_FATAL_FAILURE(try_step(GetParam(), from, to, IBV_QP_STATE | required));
      for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
        ASSERT_NO_FATAL_FAILURE(try_step(GetParam(), from, to, IBV_QP_STATE | (required ^ bit)));
      }
    }
  }
}

TEST_P(Steps, AnyMaskIsJudgedAsTheSpecificationDoes) {
  EXPECT_TRUE(rc::check([&] {
    const ibv_qp_state from = *rc::gen::elementOf(kStates);
    RC_PRE(from != IBV_QPS_SQE || GetParam() == IBV_QPT_UD);
    const auto& steps = GetParam() == IBV_QPT_UD ? kUdSteps : kRcSteps;
    // Half of the masks are near a legal step; random masks alone would nearly all be far from one.
    const Step near = *rc::gen::elementOf(steps);
    const int any = *rc::gen::inRange(0, IBV_QP_DEST_QPN << 1);
    const bool wild = *rc::gen::arbitrary<bool>();
    const int mask = wild ? any : near.required | (any & near.optional);
    const ibv_qp_state to = *rc::gen::elementOf(kStates);
    try_step(GetParam(), wild ? from : near.from, wild ? to : near.to, mask | IBV_QP_STATE);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST_P(Steps, WithoutAStateTheStateStays) {
  Options options;
  options.type = GetParam();
  Endpoint end(options);
  bring_to(end, IBV_QPS_RTS);
  ibv_qp_attr attributes = right_values(end, IBV_QPS_RTR, IBV_QPS_INIT);
  EXPECT_EQ(ibv_modify_qp(end.qp, &attributes, IBV_QP_CUR_STATE), EINVAL);  // it is not RTR
  EXPECT_EQ(ibv_modify_qp(end.qp, &attributes, IBV_QP_PORT), EINVAL);
  EXPECT_EQ(ibv_modify_qp(end.qp, &attributes, 0), 0);
  EXPECT_EQ(end.state(), IBV_QPS_RTS);
}

INSTANTIATE_TEST_SUITE_P(Types, Steps, ::testing::Values(IBV_QPT_RC, IBV_QPT_UD),
                         [](const auto& type) {
                           return type.param == IBV_QPT_UD ? "Datagrams" : "Connections";
                         });

}  // namespace
}  // namespace weft::soft::test::steps_test
