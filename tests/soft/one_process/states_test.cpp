// States of queue pairs: their effect on posting, modification and queries.
#include "tests/soft/states.hpp"

namespace weft::soft::test::states_test {
namespace {

constexpr int kCompleteRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

TEST(States, ValuesOutOfRangeAreRefused) {
  Endpoint end;
  bring_to(end, IBV_QPS_INIT);
  const auto attempt = [&](auto&& spoil) {
    ibv_qp_attr attributes = end.ready_to_receive(end.address());
    spoil(attributes);
    return ibv_modify_qp(end.qp, &attributes, kCompleteRtr);
  };
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }), EINVAL);
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.min_rnr_timer = 32; }), EINVAL);
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.max_dest_rd_atomic = 17; }), EINVAL);
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.ah_attr.port_num = 2; }), EINVAL);
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 9; }), EINVAL);
  EXPECT_EQ(attempt([](ibv_qp_attr& a) { a.dest_qp_num = 1 << 24; }), EINVAL);
  EXPECT_EQ(end.state(), IBV_QPS_INIT);
  EXPECT_EQ(attempt([](ibv_qp_attr&) {}), 0);
}

TEST(States, PostingNeedsTheRightState) {
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    Endpoint end;
    bring_to(end, state);
    EXPECT_EQ(end.post_send(IBV_WR_SEND, 1, {end.sge(0, 8)}), EINVAL);
    EXPECT_EQ(end.post_recv(1, {end.sge(0, 8)}), state == IBV_QPS_RESET ? EINVAL : 0);
  }
}

TEST(States, QueryReturnsTheAttributesThatWereSet) {
  Pair pair;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  ASSERT_EQ(ibv_query_qp(pair.a.qp, &attributes, ~0, &initial), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.dest_qp_num, pair.b.qp->qp_num);
  EXPECT_EQ(attributes.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attributes.rq_psn, 7U);
  EXPECT_EQ(attributes.sq_psn, 9U);
  EXPECT_EQ(attributes.timeout, 10);
  EXPECT_EQ(attributes.retry_cnt, 1);
  EXPECT_EQ(attributes.rnr_retry, 7);
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_EQ(attributes.max_dest_rd_atomic, 4);
  EXPECT_EQ(attributes.port_num, 1);
  EXPECT_EQ(attributes.ah_attr.dlid, pair.b.address().lid);
  EXPECT_EQ(attributes.cap.max_send_wr, 64U);
  EXPECT_EQ(initial.send_cq, pair.a.send_cq);
  EXPECT_EQ(initial.qp_type, IBV_QPT_RC);
}

TEST(States, ResetDropsOutstandingRequestsAndTheQpWorksAgain) {
  Pair pair;
  ASSERT_EQ(pair.a.post_recv(1, {pair.a.sge(0, 8)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 2, {pair.a.sge(0, 8)}), 0);  // not polled
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  ASSERT_EQ(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE), 0);
  ASSERT_EQ(ibv_modify_qp(pair.b.qp, &attributes, IBV_QP_STATE), 0);
  EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
  EXPECT_TRUE(pair.a.quiet(pair.a.recv_cq));
  pair.a.connect(pair.b.address());
  pair.b.connect(pair.a.address());
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 3, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().wr_id, 3U);
}

TEST(States, TheDrainedStateHoldsNewRequestsBackAndRaisesAnEvent) {
  Pair pair;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  attributes.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(pair.a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
  ibv_ack_async_event(&event);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(pair.a.qp, &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace weft::soft::test::states_test
