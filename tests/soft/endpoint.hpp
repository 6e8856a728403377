// Endpoint: one end of a connection on the software device, for tests.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "tests/soft/options.hpp"

namespace weft::soft::test {

class Endpoint {
 public:
  explicit Endpoint(const Options& options = {})
      : options_(options), memory_(options.bytes, options.shared_memory) {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    if (context == nullptr) throw std::runtime_error("no device");
    pd = ibv_alloc_pd(context);
    if (options.with_channel) channel = ibv_create_comp_channel(context);
    send_cq = ibv_create_cq(context, 256, this, channel, 0);
    recv_cq = ibv_create_cq(context, 256, this, channel, 0);
    mr = ibv_reg_mr(pd, memory_.data(), options.bytes, options.access);
    if (options.with_srq) {
      ibv_srq_init_attr attributes{};
      attributes.attr = {.max_wr = options.max_wr, .max_sge = options.max_sge, .srq_limit = 0};
      srq = ibv_create_srq(pd, &attributes);
    }
    create_qp();
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() {
    if (qp != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
    if (srq != nullptr) {
      EXPECT_EQ(ibv_destroy_srq(srq), 0);
    }
    if (mr != nullptr) {
      EXPECT_EQ(ibv_dereg_mr(mr), 0);
    }
    EXPECT_EQ(ibv_destroy_cq(send_cq), 0);
    EXPECT_EQ(ibv_destroy_cq(recv_cq), 0);
    if (channel != nullptr) {
      EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    }
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
  }

  Address address() const {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    Address mine{};
    mine.qp_num = qp->qp_num;
    mine.lid = port.lid;
    EXPECT_EQ(ibv_query_gid(context, 1, 0, &mine.gid), 0);
    mine.buffer = reinterpret_cast<std::uint64_t>(memory_.data());
    mine.rkey = mr->rkey;
    return mine;
  }

  int to_init() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = options_.qp_access;
    attributes.qkey = 0x1234;
    const int key = options_.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | key);
  }
  ibv_qp_attr ready_to_receive(const Address& to) const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = to.qp_num;
    attributes.rq_psn = 7;
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = options_.min_rnr_timer;
    attributes.ah_attr = vector_to(to);
    return attributes;
  }
  int to_rtr(const Address& to) {
    ibv_qp_attr attributes = ready_to_receive(to);
    return ibv_modify_qp(qp, &attributes,
                         options_.type == IBV_QPT_UD
                             ? IBV_QP_STATE
                             : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                   IBV_QP_MIN_RNR_TIMER);
  }
  int to_rts() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = options_.timeout;
    attributes.retry_cnt = options_.retry_count;
    attributes.rnr_retry = options_.rnr_retry;
    attributes.sq_psn = 9;
    attributes.max_rd_atomic = 4;
    return ibv_modify_qp(qp, &attributes,
                         options_.type == IBV_QPT_UD
                             ? IBV_QP_STATE | IBV_QP_SQ_PSN
                             : IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  /// RESET to RTS.
  void connect(const Address& address_of_peer) {
    peer = address_of_peer;
    ASSERT_EQ(to_init(), 0);
    ASSERT_EQ(to_rtr(peer), 0);
    ASSERT_EQ(to_rts(), 0);
  }
  static ibv_ah_attr vector_to(const Address& to) {
    ibv_ah_attr vector{};
    vector.dlid = to.lid;
    vector.port_num = 1;
    vector.is_global = 1;
    vector.grh.dgid = to.gid;
    vector.grh.hop_limit = 1;
    return vector;
  }
  ibv_qp_state state() const {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &initial), 0);
    return attributes.qp_state;
  }

  std::byte* data(std::size_t offset = 0) const { return memory_.data() + offset; }
  std::span<std::byte> memory() const { return memory_.all(); }
  ibv_sge sge(std::size_t offset, std::size_t length) const {
    return {reinterpret_cast<std::uint64_t>(data(offset)), static_cast<std::uint32_t>(length),
            mr->lkey};
  }

  int post_recv(std::uint64_t id, std::vector<ibv_sge> list) {
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = list.data();
    request.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    return srq != nullptr ? ibv_post_srq_recv(srq, &request, &bad)
                          : ibv_post_recv(qp, &request, &bad);
  }
  ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t id, std::vector<ibv_sge>& list,
                      std::uint64_t remote_offset = 0) const {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = list.data();
    wr.num_sge = static_cast<int>(list.size());
    wr.wr.rdma.remote_addr = peer.buffer + remote_offset;
    wr.wr.rdma.rkey = peer.rkey;
    return wr;
  }
  int post(ibv_send_wr wr) const {
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  int post_send(ibv_wr_opcode opcode, std::uint64_t id, std::vector<ibv_sge> list,
                std::uint64_t remote_offset = 0, unsigned flags = IBV_SEND_SIGNALED,
                std::uint32_t immediate = 0) const {
    ibv_send_wr wr = request(opcode, id, list, remote_offset);
    wr.send_flags = flags;
    wr.imm_data = immediate;
    return post(wr);
  }
  int post_atomic(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge result,
                  std::uint64_t remote_offset, std::uint64_t compare_add,
                  std::uint64_t swap = 0) const {
    std::vector<ibv_sge> list = {result};
    ibv_send_wr wr = request(opcode, id, list);
    wr.wr.atomic.remote_addr = peer.buffer + remote_offset;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
    wr.wr.atomic.rkey = peer.rkey;
    return post(wr);
  }

  /// The next completion. When none comes in time, the test fails and the status is one that no
  /// test expects.
  static ibv_wc wait(ibv_cq* cq, std::chrono::milliseconds patience = kPatience) {
    const auto deadline = Clock::now() + patience;
    ibv_wc wc{};
    for (;;) {
      const int count = ibv_poll_cq(cq, 1, &wc);
      if (count == 1) return wc;
      if (count < 0 || Clock::now() > deadline) break;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "no completion";
    wc.status = IBV_WC_GENERAL_ERR;
    return wc;
  }
  ibv_wc sent() const { return wait(send_cq); }
  ibv_wc received() const { return wait(recv_cq); }
  bool quiet(ibv_cq* cq) const {
    ibv_wc wc{};
    return ibv_poll_cq(cq, 1, &wc) == 0;
  }

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  Address peer{};

 private:
  void create_qp() {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = send_cq;
    attributes.recv_cq = recv_cq;
    attributes.srq = srq;
    attributes.qp_type = options_.type;
    attributes.cap = {.max_send_wr = options_.max_wr,
                      .max_recv_wr = options_.max_wr,
                      .max_send_sge = options_.max_sge,
                      .max_recv_sge = options_.max_sge,
                      .max_inline_data = 256};
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd;
    if (options_.extended) {
      attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      attributes.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |
                                  IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                                  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    }
    qp = ibv_create_qp_ex(context, &attributes);
    if (qp == nullptr) throw std::runtime_error("no QP");
  }

  Options options_;
  Memory memory_;
};

/// Two connected ends in this process.
struct Pair {
  explicit Pair(const Options& options = {}) : a(options), b(options) {
    const Address address_a = a.address();
    const Address address_b = b.address();
    a.connect(address_b);
    b.connect(address_a);
  }
  Endpoint a, b;
};

}  // namespace weft::soft::test
