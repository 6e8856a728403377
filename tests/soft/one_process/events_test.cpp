// Completion channels, shared receive queues, datagrams, the extended interfaces.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "tests/soft/endpoint.hpp"

namespace weft::soft::test::events_test {
namespace {

/// Waits until a thread of this process is blocked.
void wait_until_asleep(pid_t thread) {
  char state = 'R';
  while (state != 'S') {
    std::this_thread::yield();
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    state = line.at(line.rfind(')') + 2);
  }
}

bool readable(int descriptor, int timeout_ms) {
  pollfd waiting = {.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, timeout_ms) == 1;
}

TEST(Channel, AnEventComesOnceForEachRequest) {
  Pair pair(Options{.with_channel = true});
  Endpoint& b = pair.b;
  ASSERT_EQ(::fcntl(b.channel->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(b.post_recv(i, {b.sge(0, 8)}), 0);

  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);  // nothing was asked for
  EXPECT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
  b.received();

  ASSERT_EQ(ibv_req_notify_cq(b.recv_cq, 0), 0);
  EXPECT_FALSE(readable(b.channel->fd, 0));
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_TRUE(readable(b.channel->fd, 1000));
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  EXPECT_EQ(cq, b.recv_cq);
  EXPECT_EQ(cq_context, &b);
  EXPECT_FALSE(readable(b.channel->fd, 0));
  ibv_ack_cq_events(cq, 1);
}

TEST(Channel, ARequestSeesWhatCameSinceTheLastPoll) {
  Pair pair(Options{.with_channel = true});
  Endpoint& b = pair.b;
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(b.post_recv(i, {b.sge(0, 8)}), 0);
  const auto send = [&pair](unsigned flags = 0) {
    ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}, 0, IBV_SEND_SIGNALED | flags),
              0);
  };
  const auto take_event = [&b] {
    ASSERT_TRUE(readable(b.channel->fd, 1000));
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
    ibv_ack_cq_events(cq, 1);
  };
  send();
  ASSERT_EQ(ibv_req_notify_cq(b.recv_cq, 0), 0);
  take_event();
  // The event stands for it: another request waits for the next one.
  ASSERT_EQ(ibv_req_notify_cq(b.recv_cq, 0), 0);
  EXPECT_FALSE(readable(b.channel->fd, 0));
  b.received();
  send();
  take_event();
  b.received();
  send();
  ASSERT_EQ(ibv_req_notify_cq(b.recv_cq, 1), 0);  // of solicited ones, and it was not
  EXPECT_FALSE(readable(b.channel->fd, 0));
  send(IBV_SEND_SOLICITED);
  take_event();
}

TEST(Channel, SolicitedOnlyIgnoresOtherCompletions) {
  Pair pair(Options{.with_channel = true});
  Endpoint& b = pair.b;
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_EQ(b.post_recv(i, {b.sge(0, 8)}), 0);
  ASSERT_EQ(ibv_req_notify_cq(b.recv_cq, 1), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_FALSE(readable(b.channel->fd, 0));
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}, 0,
                             IBV_SEND_SIGNALED | IBV_SEND_SOLICITED),
            0);
  EXPECT_TRUE(readable(b.channel->fd, 1000));
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(b.channel, &cq, &cq_context), 0);
  ibv_ack_cq_events(cq, 1);
}

TEST(Channel, DestroyingAQueueWaitsForAcknowledgement) {
  Endpoint a(Options{.with_channel = true}), b;
  const Address address = a.address();
  a.connect(b.address());
  b.connect(address);
  ASSERT_EQ(ibv_req_notify_cq(a.send_cq, 0), 0);
  ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, 1, {a.sge(0, 8)}), 0);
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(a.channel, &cq, &cq_context), 0);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  a.qp = nullptr;
  std::atomic<bool> acknowledged{false};
  std::thread acknowledger([&, destroyer = ::gettid()] {
    wait_until_asleep(destroyer);
    acknowledged = true;
    ibv_ack_cq_events(cq, 1);
  });
  EXPECT_EQ(ibv_destroy_cq(a.send_cq), 0);
  EXPECT_TRUE(acknowledged);
  acknowledger.join();
  a.send_cq = ibv_create_cq(a.context, 4, nullptr, nullptr, 0);
}

TEST(SharedReceive, QueuesOfTwoQpsDrawFromOnePool) {
  Options options{.with_srq = true};
  Endpoint server(options);
  Endpoint first, second;
  ibv_qp* qps[2] = {server.qp, nullptr};
  ibv_qp_init_attr attributes{};
  attributes.send_cq = server.send_cq;
  attributes.recv_cq = server.recv_cq;
  attributes.srq = server.srq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 8,
                    .max_recv_wr = 0,
                    .max_send_sge = 1,
                    .max_recv_sge = 0,
                    .max_inline_data = 0};
  first.connect(server.address());
  server.connect(first.address());
  server.qp = qps[1] = ibv_create_qp(server.pd, &attributes);
  second.connect(server.address());
  server.connect(second.address());

  ibv_srq_attr limit{};
  limit.srq_limit = 3;
  ASSERT_EQ(ibv_modify_srq(server.srq, &limit, IBV_SRQ_LIMIT), 0);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(server.post_recv(i, {server.sge(0, 64)}), 0);
  ASSERT_EQ(first.post_send(IBV_WR_SEND, 1, {first.sge(0, 8)}), 0);
  ASSERT_EQ(second.post_send(IBV_WR_SEND, 1, {second.sge(0, 9)}), 0);
  ibv_wc wc = server.received();
  EXPECT_EQ(wc.wr_id, 0U);
  EXPECT_EQ(wc.qp_num, qps[0]->qp_num);
  wc = server.received();
  EXPECT_EQ(wc.wr_id, 1U);
  EXPECT_EQ(wc.qp_num, qps[1]->qp_num);
  EXPECT_EQ(wc.byte_len, 9U);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(server.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, server.srq);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_query_srq(server.srq, &limit), 0);
  EXPECT_EQ(limit.srq_limit, 0U);
  // A message too long for its buffer costs the QP, not the pool.
  ASSERT_EQ(first.post_send(IBV_WR_SEND, 1, {first.sge(0, 65)}), 0);
  EXPECT_EQ(server.received().status, IBV_WC_LOC_LEN_ERR);
  ASSERT_EQ(second.post_send(IBV_WR_SEND, 1, {second.sge(0, 64)}), 0);
  EXPECT_EQ(server.received().status, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_destroy_qp(qps[0]), 0);
}

class Datagrams : public ::testing::Test {
 protected:
  Datagrams() : a(options()), b(options()) {
    a.connect(b.address());
    b.connect(a.address());
    ibv_ah_attr vector = Endpoint::vector_to(b.address());
    ah = ibv_create_ah(a.pd, &vector);
  }
  ~Datagrams() override { EXPECT_EQ(ibv_destroy_ah(ah), 0); }
  static Options options() {
    Options ud;
    ud.type = IBV_QPT_UD;
    return ud;
  }
  int send(std::size_t bytes, std::uint32_t qkey = 0x1234) {
    std::vector<ibv_sge> list = {a.sge(0, bytes)};
    ibv_send_wr wr = a.request(IBV_WR_SEND, 1, list);
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = b.qp->qp_num;
    wr.wr.ud.remote_qkey = qkey;
    return a.post(wr);
  }
  Endpoint a, b;
  ibv_ah* ah = nullptr;
};

TEST_F(Datagrams, ArriveBehindARouteHeader) {
  fill(a.memory(), 6);
  ASSERT_EQ(b.post_recv(1, {b.sge(0, 40), b.sge(1000, 4096)}), 0);
  ASSERT_EQ(send(500), 0);
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
  ibv_wc wc = b.received();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, 540U);
  EXPECT_EQ(wc.src_qp, a.qp->qp_num);
  EXPECT_NE(wc.wc_flags & IBV_WC_GRH, 0U);
  EXPECT_TRUE(std::equal(a.data(), a.data(500), b.data(1000)));
  // The answer is sent to the address that the datagram came with.
  auto* header = reinterpret_cast<ibv_grh*>(b.data());
  ibv_ah* back = ibv_create_ah_from_wc(b.pd, &wc, header, 1);
  ASSERT_NE(back, nullptr);
  ASSERT_EQ(a.post_recv(2, {a.sge(8192, 100)}), 0);
  std::vector<ibv_sge> list = {b.sge(1000, 60)};
  ibv_send_wr wr = b.request(IBV_WR_SEND, 3, list);
  wr.wr.ud.ah = back;
  wr.wr.ud.remote_qpn = wc.src_qp;
  wr.wr.ud.remote_qkey = 0x1234;
  ASSERT_EQ(b.post(wr), 0);
  EXPECT_EQ(a.received().byte_len, 100U);
  EXPECT_EQ(ibv_destroy_ah(back), 0);
}

TEST_F(Datagrams, AreDroppedSilentlyWhenTheyCannotBeDelivered) {
  ASSERT_EQ(send(10), 0);  // no receive
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
  ASSERT_EQ(b.post_recv(1, {b.sge(0, 100)}), 0);
  ASSERT_EQ(send(10, 0x9999), 0);  // wrong key
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
  ASSERT_EQ(send(61), 0);  // too long for the buffer
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
  EXPECT_TRUE(b.quiet(b.recv_cq));
  ASSERT_EQ(send(60), 0);
  EXPECT_EQ(b.received().byte_len, 100U);
}

TEST_F(Datagrams, LongerThanTheMtuAreALocalErrorFromWhichTheQueueCanRecover) {
  ASSERT_EQ(send(4097), 0);
  EXPECT_EQ(a.sent().status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(a.state(), IBV_QPS_SQE);
  ASSERT_EQ(send(10), 0);
  EXPECT_EQ(a.sent().status, IBV_WC_WR_FLUSH_ERR);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(a.qp, &attributes, IBV_QP_STATE), 0);
  ASSERT_EQ(b.post_recv(1, {b.sge(0, 100)}), 0);
  ASSERT_EQ(send(10), 0);
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(b.received().byte_len, 50U);
}

TEST(Extended, BuiltRequestsAndExtendedPolling) {
  Options options{.extended = true};
  Endpoint a(options), b(options);
  const Address address = a.address();
  a.connect(b.address());
  b.connect(address);
  ibv_cq_init_attr_ex cq_attributes{};
  cq_attributes.cqe = 16;
  cq_attributes.wc_flags =
      std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* cq = ibv_create_cq_ex(a.context, &cq_attributes);
  ASSERT_NE(cq, nullptr);
  ibv_poll_cq_attr none{};
  EXPECT_EQ(ibv_start_poll(cq, &none), ENOENT);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);

  EXPECT_EQ(ibv_qp_to_qp_ex(Endpoint().qp), nullptr);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp);
  ASSERT_NE(qp, nullptr);
  fill(a.memory(), 7);
  ASSERT_EQ(b.post_recv(4, {b.sge(2000, 8)}), 0);
  ibv_wr_start(qp);
  qp->wr_id = 1;
  qp->wr_flags = 0;
  ibv_wr_rdma_write(qp, a.peer.rkey, a.peer.buffer);
  ibv_wr_set_sge(qp, a.mr->lkey, reinterpret_cast<std::uint64_t>(a.data()), 1000);
  qp->wr_id = 2;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send_imm(qp, 99);
  ibv_wr_set_inline_data(qp, a.data(), 8);
  EXPECT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(a.sent().wr_id, 2U);
  EXPECT_EQ(b.received().imm_data, 99U);
  EXPECT_TRUE(std::equal(a.data(), a.data(1000), b.data()));
  EXPECT_TRUE(std::equal(a.data(), a.data(8), b.data(2000)));
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_abort(qp);
  EXPECT_TRUE(a.quiet(a.send_cq));
}

TEST(Extended, TimestampsGrow) {
  Endpoint a, b;
  ibv_cq_init_attr_ex cq_attributes{};
  cq_attributes.cqe = 16;
  cq_attributes.wc_flags =
      std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* cq = ibv_create_cq_ex(a.context, &cq_attributes);
  ASSERT_NE(cq, nullptr);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = ibv_cq_ex_to_cq(cq);
  attributes.recv_cq = a.recv_cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 8,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  a.qp = ibv_create_qp(a.pd, &attributes);
  const Address address = a.address();
  a.connect(b.address());
  b.connect(address);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, i, {a.sge(0, 8)}), 0);
  }
  ibv_poll_cq_attr none{};
  ASSERT_EQ(ibv_start_poll(cq, &none), 0);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cq->wr_id, i);
    EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
    EXPECT_EQ(ibv_wc_read_qp_num(cq), a.qp->qp_num);
    EXPECT_GE(ibv_wc_read_completion_ts(cq), last);
    last = ibv_wc_read_completion_ts(cq);
    EXPECT_EQ(ibv_next_poll(cq), i < 2 ? 0 : ENOENT);
  }
  ibv_end_poll(cq);
  EXPECT_GT(last, 0U);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  a.qp = nullptr;
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

}  // namespace
}  // namespace weft::soft::test::events_test
