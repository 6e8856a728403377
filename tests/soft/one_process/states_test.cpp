// The state machine of queue pairs, and the objects' rules of creation and destruction.
#include <array>
#include <set>

#include "tests/soft/endpoint.hpp"

namespace weft::soft::test {
namespace {

constexpr std::array kStates = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

/// Brings the QP of `end` to `state` by the legal way. SQE is only reached by errors of datagrams.
void bring_to(Endpoint& end, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  if (state == IBV_QPS_RESET) return;
  if (state == IBV_QPS_ERR) {
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(end.qp, &attributes, IBV_QP_STATE), 0);
    return;
  }
  ASSERT_EQ(end.to_init(), 0);
  if (state == IBV_QPS_INIT) return;
  ASSERT_EQ(end.to_rtr(end.address()), 0);
  if (state == IBV_QPS_RTR) return;
  ASSERT_EQ(end.to_rts(), 0);
  if (state == IBV_QPS_RTS) return;
  attributes.qp_state = IBV_QPS_SQD;
  ASSERT_EQ(ibv_modify_qp(end.qp, &attributes, IBV_QP_STATE), 0);
}

/// The attributes that make a step to `state` complete, wherever it begins.
int complete_mask(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_INIT:
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    case IBV_QPS_RTR:
      return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    default:
      return IBV_QP_STATE;
  }
}
constexpr int kStartMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

TEST(States, OnlyTheTransitionsOfTheSpecificationAreAllowed) {
  // From the specification's state diagram for reliable connections, software's transitions.
  const std::set<std::pair<ibv_qp_state, ibv_qp_state>> legal = {
      {IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RTR},
      {IBV_QPS_RTR, IBV_QPS_RTS},    {IBV_QPS_RTS, IBV_QPS_RTS},   {IBV_QPS_RTS, IBV_QPS_SQD},
      {IBV_QPS_SQD, IBV_QPS_SQD},    {IBV_QPS_SQD, IBV_QPS_RTS}};
  for (const ibv_qp_state from : kStates) {
    if (from == IBV_QPS_SQE) continue;
    for (const ibv_qp_state to : kStates) {
      Endpoint end;
      bring_to(end, from);
      ibv_qp_attr attributes = end.ready_to_receive(end.address());
      attributes.qp_state = to;
      attributes.port_num = 1;
      const int mask = from == IBV_QPS_RTR && to == IBV_QPS_RTS ? kStartMask : complete_mask(to);
      const bool allowed = to == IBV_QPS_RESET || to == IBV_QPS_ERR || legal.contains({from, to});
      EXPECT_EQ(ibv_modify_qp(end.qp, &attributes, mask), allowed ? 0 : EINVAL)
          << from << " -> " << to;
      EXPECT_EQ(end.state(), allowed ? to : from) << from << " -> " << to;
    }
  }
}

TEST(States, EachMandatoryAttributeIsMandatoryAndStrangeOnesAreRefused) {
  const auto attempt = [](ibv_qp_state from, ibv_qp_state to, int mask) {
    Endpoint end;
    bring_to(end, from);
    ibv_qp_attr attributes = end.ready_to_receive(end.address());
    attributes.qp_state = to;
    attributes.port_num = 1;
    return ibv_modify_qp(end.qp, &attributes, mask);
  };
  const auto check = [&](ibv_qp_state from, ibv_qp_state to, int mask) {
    EXPECT_EQ(attempt(from, to, mask), 0);
    for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
      if ((mask & bit) == 0 || bit == IBV_QP_STATE) continue;
      EXPECT_EQ(attempt(from, to, mask & ~bit), EINVAL) << from << "->" << to << " w/o " << bit;
    }
    EXPECT_EQ(attempt(from, to, mask | IBV_QP_QKEY), EINVAL);
    EXPECT_EQ(attempt(from, to, mask | IBV_QP_CAP), EINVAL);
  };
  check(IBV_QPS_RESET, IBV_QPS_INIT, complete_mask(IBV_QPS_INIT));
  check(IBV_QPS_INIT, IBV_QPS_RTR, complete_mask(IBV_QPS_RTR));
  check(IBV_QPS_RTR, IBV_QPS_RTS, kStartMask);
}

TEST(States, ValuesOutOfRangeAreRefused) {
  Endpoint end;
  bring_to(end, IBV_QPS_INIT);
  const auto attempt = [&](auto&& spoil) {
    ibv_qp_attr attributes = end.ready_to_receive(end.address());
    spoil(attributes);
    return ibv_modify_qp(end.qp, &attributes, complete_mask(IBV_QPS_RTR));
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

TEST(States, QueryReturnsWhatWasSet) {
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

TEST(States, ResetForgetsWhatWasOutstandingAndTheQpWorksAgain) {
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

TEST(States, TheDrainedStateHoldsBackWhatIsPostedAndSaysWhenItIsDrained) {
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

TEST(Objects, WhatIsInUseIsBusy) {
  Endpoint end;
  EXPECT_EQ(ibv_dealloc_pd(end.pd), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(end.send_cq), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(end.recv_cq), EBUSY);
  Endpoint shared(Options{.with_srq = true, .with_channel = true});
  EXPECT_EQ(ibv_destroy_srq(shared.srq), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(shared.channel), EBUSY);
}

TEST(Objects, ClosingADeviceTakesAlongWhatIsLeft) {
  Endpoint end;
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  // A careless program's: it keeps the structures, which must stay readable.
  static ibv_pd* pd = ibv_alloc_pd(context);
  static ibv_mr* mr = ibv_reg_mr(pd, end.data(), 4096, kAllAccess);
  ASSERT_NE(mr, nullptr);
  const Address mine = end.address();
  const std::uint32_t rkey = mr->rkey;
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(mr->rkey, rkey);
  end.connect(mine);
  end.peer.rkey = rkey;
  ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(0, 8)}), 0);
  EXPECT_EQ(end.sent().status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Objects, RegistrationChecksRangeAndAccess) {
  Endpoint end;
  EXPECT_EQ(ibv_reg_mr(end.pd, end.data(), 4096, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(end.pd, reinterpret_cast<void*>(4096), 4096, IBV_ACCESS_LOCAL_WRITE),
            nullptr);
  EXPECT_EQ(errno, EFAULT);
  static const char text[4096] = "constant";
  ibv_mr* readable = ibv_reg_mr(end.pd, const_cast<char*>(text), 16, IBV_ACCESS_REMOTE_READ);
  ASSERT_NE(readable, nullptr);
  EXPECT_EQ(ibv_dereg_mr(readable), 0);
  EXPECT_EQ(ibv_reg_mr(end.pd, end.data(), 4096, IBV_ACCESS_ON_DEMAND), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(Objects, AnIoAddressMayDifferFromTheAddress) {
  Pair pair;
  constexpr std::uint64_t iova = 0x1000'0000'0000;
  ibv_mr* mr = ibv_reg_mr_iova(pair.b.pd, pair.b.data(4096), 4096, iova, kAllAccess);
  ASSERT_NE(mr, nullptr);
  fill(pair.a.memory(), 5);
  pair.a.peer.buffer = iova;
  pair.a.peer.rkey = mr->rkey;
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 100)}, 50), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(std::equal(pair.a.data(), pair.a.data(100), pair.b.data(4096 + 50)));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST(Objects, ReregistrationChangesAccessAndTranslation) {
  Pair pair;
  ASSERT_EQ(
      ibv_rereg_mr(pair.b.mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                   pair.b.data(4096), 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
      0);
  pair.a.peer.rkey = pair.b.mr->rkey;
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}, 4096), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 2, {pair.a.sge(0, 8)}, 4095), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Objects, WhatIsNotSupportedSaysSo) {
  Endpoint end;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = end.send_cq;
  attributes.cap = {.max_send_wr = 1,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND}) {
    attributes.qp_type = type;
    EXPECT_EQ(ibv_create_qp(end.pd, &attributes), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_sge = 1000;
  EXPECT_EQ(ibv_create_qp(end.pd, &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_alloc_mw(end.pd, IBV_MW_TYPE_1), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(ibv_create_cq(end.context, 1 << 30, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace weft::soft::test
