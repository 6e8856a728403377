// Faults that WEFT_SOFT_FAULTS asks for, in one process among several.
#include <cstdlib>

#include "tests/soft/endpoint.hpp"
#include "tests/soft/processes/roles.hpp"

namespace weft::soft::test::faults_test {
namespace {

TEST(Environment, CountsTheMessagesOfOneQueuePair) {
  Role role([](Line&) {
    ::setenv("WEFT_SOFT_FAULTS", "error:at=3,qp=3", 1);
    Pair first, second;  // QPs 1 to 4
    for (int n = 1; n <= 5; ++n) {
      ASSERT_EQ(first.a.post_send(IBV_WR_RDMA_WRITE, 1, {first.a.sge(0, 8)}), 0);
      EXPECT_EQ(first.a.sent().status, IBV_WC_SUCCESS);
      ASSERT_EQ(second.a.post_send(IBV_WR_RDMA_WRITE, 1, {second.a.sge(0, 8)}), 0);
      EXPECT_EQ(second.a.sent().status, n < 3    ? IBV_WC_SUCCESS
                                        : n == 3 ? IBV_WC_RETRY_EXC_ERR
                                                 : IBV_WC_WR_FLUSH_ERR);
    }
  });
  role.expect_success();
}

TEST(Environment, MeetsTheRankThatItNames) {
  for (const char* rank : {"0", "1"}) {
    Role role([rank](Line&) {
      for (const char* name : {"WEFT_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) ::unsetenv(name);
      ::setenv("PMI_RANK", rank, 1);
      ::setenv("WEFT_SOFT_FAULTS", "rank=1; error", 1);
      Pair pair;
      ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
      EXPECT_EQ(pair.a.sent().status == IBV_WC_SUCCESS, rank[0] == '0');
    });
    role.expect_success();
  }
}

TEST(Environment, MistakesLeaveNoDevice) {
  Role role([](Line&) {
    ::setenv("WEFT_SOFT_FAULTS", "error:at=never", 1);
    int count = -1;
    ibv_device** devices = ibv_get_device_list(&count);
    EXPECT_EQ(count, 0);
    ibv_free_device_list(devices);
  });
  role.expect_success();
}

TEST(Environment, APortOfOneProcessIsDownForItsPeersToo) {
  Role far([](Line& line) {
    ::setenv("WEFT_SOFT_FAULTS", "port-down", 1);
    Endpoint end;
    end.connect(line.exchange(end.address()));
    line.exchange('r');
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(end.context, 1, &port), 0);
    EXPECT_EQ(port.state, IBV_PORT_DOWN);
    line.exchange('d');
  });
  Role near([](Line& line) {
    Endpoint end;
    end.connect(line.exchange(end.address()));
    line.exchange('r');
    ASSERT_EQ(end.post_send(IBV_WR_RDMA_WRITE, 1, {end.sge(0, 8)}), 0);
    EXPECT_EQ(end.sent().status, IBV_WC_RETRY_EXC_ERR);
    line.exchange('d');
  });
  introduce<Address>(far, near);
  introduce<char>(far, near);
  introduce<char>(far, near);
  far.expect_success();
  near.expect_success();
}

TEST(Environment, AProcessDiesAtItsMessage) {
  Role victim([](Line& line) {
    ::setenv("WEFT_SOFT_FAULTS", "die:at=3", 1);
    Endpoint end;
    end.connect(line.exchange(end.address()));
    for (int n = 1; n <= 5; ++n) {
      ASSERT_EQ(end.post_send(IBV_WR_SEND, 1, {end.sge(0, 8)}), 0);
      ASSERT_EQ(end.sent().status, IBV_WC_SUCCESS);
    }
  });
  Role survivor([](Line& line) {
    Endpoint end;
    end.connect(line.exchange(end.address()));
    for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(end.post_recv(i, {end.sge(0, 8)}), 0);
    EXPECT_EQ(end.received().status, IBV_WC_SUCCESS);
    EXPECT_EQ(end.received().status, IBV_WC_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(end.received().status, IBV_WC_WR_FLUSH_ERR);
  });
  introduce<Address>(victim, survivor);
  survivor.expect_success();
}

}  // namespace
}  // namespace weft::soft::test::faults_test
