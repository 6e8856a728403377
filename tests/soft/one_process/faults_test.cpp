// Injected faults meet the messages that they name, as often as they should, and no others.
#include <algorithm>
#include <string>

#include "tests/soft/endpoint.hpp"
#include "verbs/soft/abi/extensions.h"

namespace weft::soft::test::faults_test {
namespace {

using std::chrono::milliseconds;

/// Faults are the process's: none may outlive its test.
class Faults : public ::testing::Test {
 protected:
  ~Faults() override { EXPECT_EQ(weft_soft_inject("port-up"), 0); }

  static ibv_async_event next_event(ibv_context* context) {
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
    return event;
  }
  static ibv_port_state port_state(const Endpoint& end) {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(end.context, 1, &port), 0);
    return port.state;
  }
  /// Writes one byte of value n to offset n, for n in [1, count].
  static void write_numbers(const Endpoint& end, std::uint64_t count) {
    for (std::uint64_t n = 1; n <= count; ++n) {
      *end.data(n) = static_cast<std::byte>(n);
      ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, n, {end.sge(n, 1)}, n), 0);
    }
  }
};

TEST_F(Faults, AnErrorMeetsTheMessageThatWasNamedAndFlushesTheRest) {
  const std::pair<const char*, ibv_wc_status> statuses[] = {
      {"", IBV_WC_RETRY_EXC_ERR},
      {",status=rnr", IBV_WC_RNR_RETRY_EXC_ERR},
      {",status=remote-access", IBV_WC_REM_ACCESS_ERR},
      {",status=remote-request", IBV_WC_REM_INV_REQ_ERR},
      {",status=remote-operation", IBV_WC_REM_OP_ERR},
      {",status=local-protection", IBV_WC_LOC_PROT_ERR},
      {",status=local-qp", IBV_WC_LOC_QP_OP_ERR},
      {",status=timeout", IBV_WC_RESP_TIMEOUT_ERR},
      {",status=fatal", IBV_WC_FATAL_ERR}};
  for (const auto& [text, status] : statuses) {
    Pair pair;
    ASSERT_EQ(weft_soft_inject((std::string("error:at=4") + text).c_str()), 0);
    write_numbers(pair.a, 6);
    for (std::uint64_t n = 1; n <= 6; ++n) {
      const ibv_wc wc = pair.a.sent();
      EXPECT_EQ(wc.wr_id, n);
      EXPECT_EQ(wc.status, n < 4 ? IBV_WC_SUCCESS : n == 4 ? status : IBV_WC_WR_FLUSH_ERR) << n;
      EXPECT_EQ(*pair.b.data(n), static_cast<std::byte>(n < 4 ? n : 0)) << n;
    }
    EXPECT_EQ(pair.a.state(), IBV_QPS_ERR);
    EXPECT_EQ(pair.b.state(), IBV_QPS_RTS);
  }
}

TEST_F(Faults, ALostAnswerIsAnErrorOfADeliveredMessage) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("lost-answer:at=2"), 0);
  write_numbers(pair.a, 3);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(*pair.b.data(2), std::byte{2});
  EXPECT_EQ(*pair.b.data(3), std::byte{0});
}

TEST_F(Faults, ALostAnswerWaitsForItsReceive) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("lost-answer"), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
  ASSERT_EQ(pair.b.post_recv(2, {pair.b.sge(0, 8)}), 0);
  EXPECT_EQ(pair.b.received().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_RETRY_EXC_ERR);
}

TEST_F(Faults, AFailedQueuePairFlushesAllAndRaisesAnEvent) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
    Options options;
    options.type = type;
    Pair pair(options);
    ASSERT_EQ(pair.a.post_recv(9, {pair.a.sge(0, 64)}), 0);
    ASSERT_EQ(weft_soft_inject("qp-error:at=1"), 0);
    ibv_ah_attr vector = Endpoint::vector_to(pair.b.address());
    ibv_ah* ah = ibv_create_ah(pair.a.pd, &vector);
    for (std::uint64_t n = 1; n <= 2; ++n) {
      std::vector<ibv_sge> list = {pair.a.sge(0, 8)};
      ibv_send_wr wr = pair.a.request(IBV_WR_SEND, n, list);
      if (type == IBV_QPT_UD) wr.wr.ud = {ah, pair.b.qp->qp_num, 0x1234};
      ASSERT_EQ(pair.a.post(wr), 0);
    }
    EXPECT_EQ(pair.a.sent().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(pair.a.sent().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(pair.a.received().status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(pair.a.state(), IBV_QPS_ERR);
    const ibv_async_event event = next_event(pair.a.context);
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
    EXPECT_EQ(event.element.qp, pair.a.qp);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
  }
}

TEST_F(Faults, APortThatComesBackInTimeCostsOnlyTime) {
  Options options;
  options.timeout = 20;  // the retries last for half a minute
  Pair pair(options);
  ASSERT_EQ(weft_soft_inject("port-down:at=3,for=40ms"), 0);
  const auto begin = Clock::now();
  write_numbers(pair.a, 4);
  EXPECT_EQ(pair.a.sent().wr_id, 1U);
  EXPECT_EQ(pair.a.sent().wr_id, 2U);
  for (const Endpoint* end : {&pair.a, &pair.b}) {
    const ibv_async_event event = next_event(end->context);
    EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
    EXPECT_EQ(event.element.port_num, 1);
  }
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_GE(Clock::now() - begin, milliseconds(40));
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(*pair.b.data(4), std::byte{4});
  EXPECT_EQ(next_event(pair.a.context).event_type, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(port_state(pair.a), IBV_PORT_ACTIVE);
}

TEST_F(Faults, APortThatStaysDownExhaustsTheRetries) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("port-down"), 0);
  EXPECT_EQ(port_state(pair.a), IBV_PORT_DOWN);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_RETRY_EXC_ERR);
  ASSERT_EQ(weft_soft_inject("port-up"), 0);
  EXPECT_EQ(port_state(pair.a), IBV_PORT_ACTIVE);
  EXPECT_EQ(next_event(pair.b.context).event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(next_event(pair.b.context).event_type, IBV_EVENT_PORT_ACTIVE);
  ASSERT_EQ(weft_soft_inject("port-up"), 0);  // it is up: nothing to tell
  Pair again;
  ASSERT_EQ(again.a.post_send(IBV_WR_RDMA_WRITE, 1, {again.a.sge(0, 8)}), 0);
  EXPECT_EQ(again.a.sent().status, IBV_WC_SUCCESS);
}

TEST_F(Faults, ADelayHoldsMessagesBackInOrder) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("delay:by=10ms,jitter=5ms,every=3"), 0);
  const auto begin = Clock::now();
  write_numbers(pair.a, 7);
  EXPECT_EQ(pair.a.sent().wr_id, 1U);
  EXPECT_EQ(pair.a.sent().wr_id, 2U);
  for (std::uint64_t n = 3; n <= 7; ++n) {
    EXPECT_EQ(pair.a.sent().wr_id, n);
    EXPECT_GE(Clock::now() - begin, milliseconds(10));
  }
}

TEST_F(Faults, ASlowPeerTakesItsTimeForEachMessage) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("slow-peer:by=5ms"), 0);
  const auto begin = Clock::now();
  write_numbers(pair.a, 6);
  for (std::uint64_t n = 1; n <= 6; ++n) EXPECT_EQ(pair.a.sent().wr_id, n);
  EXPECT_GE(Clock::now() - begin, milliseconds(5 * 5));
}

TEST_F(Faults, ChanceIsRepeatableByItsSeed) {
  const auto first_failure = [](const std::string& faults) {
    Options options;
    options.max_wr = 256;
    Pair pair(options);
    EXPECT_EQ(weft_soft_inject(faults.c_str()), 0);
    for (std::uint64_t n = 1;; ++n) {
      EXPECT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, n, {pair.a.sge(0, 8)}), 0);
      if (pair.a.sent().status != IBV_WC_SUCCESS) return n;
    }
  };
  std::vector<std::uint64_t> met;
  for (int seed = 0; seed < 12; ++seed) {
    const std::string faults = "seed=" + std::to_string(seed) + "; error:chance=0.05";
    met.push_back(first_failure(faults));
    EXPECT_EQ(first_failure(faults), met.back()) << faults;
  }
  std::ranges::sort(met);
  EXPECT_NE(met.front(), met.back());
  EXPECT_EQ(first_failure("error:chance=1"), 1U);
}

TEST_F(Faults, AnInvalidTextIsRefusedAndChangesNothing) {
  Pair pair;
  ASSERT_EQ(weft_soft_inject("error:at=1"), 0);
  for (const char* text : {"eror",
                           "error:at",
                           "error:at=0",
                           "error:at=-1",
                           "error:at=1x",
                           "error:at=1,every=2",
                           "error:by=3us",
                           "error:status=bad",
                           "error:chance=0",
                           "error:chance=1.5",
                           "error:chance=nan",
                           "delay",
                           "delay:by=3",
                           "delay:by=us",
                           "delay:by=3h",
                           "delay:by=99999999999s",
                           "slow-peer:at=3,by=1us",
                           "slow-peer",
                           "port-down:for=x",
                           "port-up:for=1s",
                           "seed=x",
                           "rank=-1",
                           "error:,",
                           "at=3",
                           "error; oops"}) {
    EXPECT_EQ(weft_soft_inject(text), EINVAL) << text;
  }
  EXPECT_EQ(weft_soft_inject(nullptr), EINVAL);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(weft_soft_inject(" ; delay : by=1us"), EINVAL);
  EXPECT_EQ(weft_soft_inject(" ;delay:by=1us , every=2 ; ;seed=3"), 0);
  EXPECT_EQ(weft_soft_inject(""), 0);
}

}  // namespace
}  // namespace weft::soft::test::faults_test
