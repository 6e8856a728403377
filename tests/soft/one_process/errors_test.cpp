// Errors: operations that are not allowed end as on hardware, with the right status at both ends
// and nothing written.
#include "tests/soft/endpoint.hpp"

namespace weft::soft::test::errors_test {
namespace {

constexpr std::byte kGuard{0x5a};

/// After a fatal error of `failed` and `remote` (when set), what is outstanding is flushed.
void expect_flushed(Endpoint& end, std::uint64_t receive_id) {
  EXPECT_EQ(end.state(), IBV_QPS_ERR);
  const ibv_wc receive = end.received();
  EXPECT_EQ(receive.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(receive.wr_id, receive_id);
  ASSERT_EQ(end.post_send(IBV_WR_SEND, 900, {end.sge(0, 8)}), 0);
  EXPECT_EQ(end.sent().status, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(end.post_recv(901, {end.sge(0, 8)}), 0);
  EXPECT_EQ(end.received().status, IBV_WC_WR_FLUSH_ERR);
}

ibv_event_type next_event(Endpoint& end) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(end.context, &event), 0);
  EXPECT_EQ(event.element.qp, end.qp);
  const ibv_event_type type = event.event_type;
  ibv_ack_async_event(&event);
  return type;
}

struct RemoteCase {
  const char* name;
  ibv_wr_opcode opcode;
  std::function<void(Endpoint&, ibv_send_wr&)> spoil;
  Options options = {};
  ibv_wc_status status = IBV_WC_REM_ACCESS_ERR;
  ibv_event_type event = IBV_EVENT_QP_ACCESS_ERR;
};
void PrintTo(const RemoteCase& one, std::ostream* out) {
  *out << one.name;
}

class RemoteErrors : public ::testing::TestWithParam<RemoteCase> {};

TEST_P(RemoteErrors, FailBothEndsAndTouchNothing) {
  const RemoteCase& one = GetParam();
  Pair pair(one.options);
  std::ranges::fill(pair.b.memory(), kGuard);
  ASSERT_EQ(pair.a.post_recv(11, {pair.a.sge(0, 8)}), 0);
  ASSERT_EQ(pair.b.post_recv(12, {pair.b.sge(0, 8)}), 0);
  std::vector<ibv_sge> list = {pair.a.sge(0, 8)};
  ibv_send_wr wr = pair.a.request(one.opcode, 13, list);
  const bool atomic = one.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (atomic) {
    wr.wr.atomic.remote_addr = pair.a.peer.buffer;
    wr.wr.atomic.rkey = pair.a.peer.rkey;
    wr.wr.atomic.compare_add = 1;
  }
  one.spoil(pair.b, wr);
  ASSERT_EQ(pair.a.post(wr), 0);
  EXPECT_EQ(pair.a.sent().status, one.status);
  expect_flushed(pair.a, 11);
  expect_flushed(pair.b, 12);
  EXPECT_EQ(next_event(pair.b), one.event);
  for (const std::byte byte : pair.b.memory()) ASSERT_EQ(byte, kGuard);
}

Options without(unsigned access) {
  Options options;
  options.access &= ~access;
  return options;
}
Options qp_without(unsigned access) {
  Options options;
  options.qp_access &= ~access;
  return options;
}

const auto kNothing = [](Endpoint&, ibv_send_wr&) {};
const auto kBadKey = [](Endpoint&, ibv_send_wr& wr) { wr.wr.rdma.rkey ^= 1; };
const auto kWildKey = [](Endpoint&, ibv_send_wr& wr) { wr.wr.rdma.rkey = 0xffffffff; };

INSTANTIATE_TEST_SUITE_P(
    Cases, RemoteErrors,
    ::testing::Values(RemoteCase{"write: bad key", IBV_WR_RDMA_WRITE, kBadKey},
                      RemoteCase{"write: wild key", IBV_WR_RDMA_WRITE, kWildKey},
                      RemoteCase{"write: key 0", IBV_WR_RDMA_WRITE,
                                 [](Endpoint&, ibv_send_wr& wr) { wr.wr.rdma.rkey = 0; }},
                      RemoteCase{"write: one byte beyond the end", IBV_WR_RDMA_WRITE,
                                 [](Endpoint& b, ibv_send_wr& wr) {
                                   wr.wr.rdma.remote_addr += b.memory().size() - 7;
                                 }},
                      RemoteCase{"write: before the beginning", IBV_WR_RDMA_WRITE,
                                 [](Endpoint&, ibv_send_wr& wr) { --wr.wr.rdma.remote_addr; }},
                      RemoteCase{"write: the end of the address space", IBV_WR_RDMA_WRITE,
                                 [](Endpoint&, ibv_send_wr& wr) {
                                   wr.wr.rdma.remote_addr = ~std::uint64_t{0} - 3;
                                 }},
                      RemoteCase{"write: region without access", IBV_WR_RDMA_WRITE, kNothing,
                                 without(IBV_ACCESS_REMOTE_WRITE)},
                      RemoteCase{"write: QP without access", IBV_WR_RDMA_WRITE, kNothing,
                                 qp_without(IBV_ACCESS_REMOTE_WRITE)},
                      RemoteCase{"write with immediate: bad key", IBV_WR_RDMA_WRITE_WITH_IMM,
                                 kBadKey},
                      RemoteCase{"read: bad key", IBV_WR_RDMA_READ, kBadKey},
                      RemoteCase{"read: region without access", IBV_WR_RDMA_READ, kNothing,
                                 without(IBV_ACCESS_REMOTE_READ)},
                      RemoteCase{"read: QP without access", IBV_WR_RDMA_READ, kNothing,
                                 qp_without(IBV_ACCESS_REMOTE_READ)},
                      RemoteCase{"atomic: region without access", IBV_WR_ATOMIC_FETCH_AND_ADD,
                                 kNothing, without(IBV_ACCESS_REMOTE_ATOMIC)},
                      RemoteCase{"atomic: QP without access", IBV_WR_ATOMIC_FETCH_AND_ADD, kNothing,
                                 qp_without(IBV_ACCESS_REMOTE_ATOMIC)},
                      RemoteCase{"atomic: not aligned",
                                 IBV_WR_ATOMIC_FETCH_AND_ADD,
                                 [](Endpoint&, ibv_send_wr& wr) { wr.wr.atomic.remote_addr += 4; },
                                 {},
                                 IBV_WC_REM_INV_REQ_ERR,
                                 IBV_EVENT_QP_REQ_ERR}));

TEST(Errors, ARegionOfAnotherProtectionDomainIsRefused) {
  Pair pair;
  ibv_pd* other = ibv_alloc_pd(pair.b.context);
  ibv_mr* foreign = ibv_reg_mr(other, pair.b.data(), 4096, kAllAccess);
  ASSERT_NE(foreign, nullptr);
  pair.a.peer.rkey = foreign->rkey;
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(foreign), 0);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST(Errors, ADeregisteredRegionIsRefusedAndItsKeyIsNotUsedAgainAtOnce) {
  Pair pair;
  ASSERT_EQ(ibv_dereg_mr(pair.b.mr), 0);
  pair.b.mr = ibv_reg_mr(pair.b.pd, pair.b.data(), 4096, kAllAccess);
  EXPECT_NE(pair.b.mr->rkey, pair.a.peer.rkey);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Errors, AReceiveThatIsTooShortFailsBothEnds) {
  Pair pair;
  ASSERT_EQ(pair.b.post_recv(1, {pair.b.sge(0, 7)}), 0);
  ASSERT_EQ(pair.b.post_recv(2, {pair.b.sge(0, 8)}), 0);
  ASSERT_EQ(pair.a.post_recv(3, {pair.a.sge(0, 8)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 4, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_INV_REQ_ERR);
  const ibv_wc wc = pair.b.received();
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(wc.wr_id, 1U);
  expect_flushed(pair.b, 2);
  expect_flushed(pair.a, 3);
}

TEST(Errors, AReceiveWithABadKeyFailsBothEnds) {
  Pair pair;
  ibv_sge sge = pair.b.sge(0, 64);
  sge.lkey ^= 0x80;
  ASSERT_EQ(pair.b.post_recv(1, {sge}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 4, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(pair.b.received().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.b.state(), IBV_QPS_ERR);
}

TEST(Errors, ASendWithABadLocalKeyFailsOnlyHere) {
  Pair pair;
  ibv_sge sge = pair.a.sge(0, 8);
  sge.lkey ^= 0x80;
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 4, {sge}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.a.state(), IBV_QPS_ERR);
  EXPECT_EQ(pair.b.state(), IBV_QPS_RTS);
}

TEST(Errors, ReadingIntoMemoryWithoutLocalWriteIsALocalError) {
  Pair pair(Options{.access = IBV_ACCESS_REMOTE_READ});
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_READ, 4, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_LOC_PROT_ERR);
}

TEST(Errors, AReceiverThatIsNotReadyIsRetriedAsOftenAsAsked) {
  Options options;
  options.rnr_retry = 2;
  options.min_rnr_timer = 14;  // 1.28 ms
  Pair pair(options);
  const auto begin = Clock::now();
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 2, {pair.a.sge(0, 8)}), 0);
  const ibv_wc wc = pair.a.sent();
  EXPECT_EQ(wc.wr_id, 1U);
  EXPECT_EQ(wc.status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_GE(Clock::now() - begin, std::chrono::microseconds(2 * 1280));
  EXPECT_EQ(pair.a.sent().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(pair.b.state(), IBV_QPS_RTS);
}

TEST(Errors, AReceivePostedLaterIsFound) {
  Pair pair;
  fill(pair.a.memory(), 4);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, i, {pair.a.sge(100 * i, 100)}), 0);
  }
  EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(pair.b.post_recv(i, {pair.b.sge(100 * i, 100)}), 0);
  }
  // Only the receiver polls: the sender's progress thread has to deliver.
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(pair.b.received().wr_id, i);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(pair.a.sent().wr_id, i);
  EXPECT_TRUE(std::equal(pair.a.data(), pair.a.data(1000), pair.b.data()));
}

TEST(Errors, AMissingQpIsAnErrorAfterTheRetries) {
  Endpoint a;
  Address nobody = a.address();
  nobody.qp_num ^= 1;  // of this process, but not created
  a.connect(nobody);
  ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, 1, {a.sge(0, 8)}), 0);
  EXPECT_EQ(a.sent().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(a.state(), IBV_QPS_ERR);
}

TEST(Errors, APeerThatConnectsLateIsWaitedFor) {
  Options options;
  options.timeout = 20;
  Endpoint a(options), b(options);
  a.connect(b.address());
  ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, 1, {a.sge(0, 8)}), 0);
  EXPECT_TRUE(a.quiet(a.send_cq));
  b.connect(a.address());
  EXPECT_EQ(a.sent().status, IBV_WC_SUCCESS);
}

TEST(Errors, AFullCompletionQueueIsAnErrorOfTheQueue) {
  Endpoint a, b;
  ibv_cq* tiny = ibv_create_cq(a.context, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = tiny;
  attributes.recv_cq = a.recv_cq;
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 64,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  a.qp = ibv_create_qp(a.pd, &attributes);
  const Address address = a.address();
  a.connect(b.address());
  b.connect(address);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, i, {a.sge(0, 8)}), 0);
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, tiny);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  a.qp = nullptr;
  EXPECT_EQ(ibv_destroy_cq(tiny), 0);
}

}  // namespace
}  // namespace weft::soft::test::errors_test
