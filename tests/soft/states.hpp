// Steps that bring a queue pair to each of its states.
#pragma once

#include "tests/soft/endpoint.hpp"

namespace weft::soft::test {

/// Brings the QP of `end` to `state` by the legal way. To SQE that is a datagram that fails.
inline void bring_to(Endpoint& end, ibv_qp_state state) {
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
  if (state == IBV_QPS_SQE) {
    ibv_ah_attr vector = Endpoint::vector_to(end.address());
    ibv_ah* ah = ibv_create_ah(end.pd, &vector);
    std::vector<ibv_sge> list = {end.sge(0, 4097)};  // longer than the MTU
    ibv_send_wr wr = end.request(IBV_WR_SEND, 1, list);
    wr.wr.ud = {ah, end.qp->qp_num, 0x1234};
    ASSERT_EQ(end.post(wr), 0);
    ASSERT_EQ(ibv_destroy_ah(ah), 0);
    return;
  }
  attributes.qp_state = IBV_QPS_SQD;
  ASSERT_EQ(ibv_modify_qp(end.qp, &attributes, IBV_QP_STATE), 0);
}

}  // namespace weft::soft::test
