// The edges of the interface: wrong arguments get the errno that adapters give.
#include <infiniband/verbs.h>

#include "tests/soft/endpoint.hpp"
#include "verbs/soft/abi/extensions.h"

namespace weft::soft::test::interface_test {
namespace {

TEST(Interface, TheExtendedQueryReturnsTheSameAndMore) {
  const Endpoint end;
  ibv_device_attr plain{};
  ASSERT_EQ(ibv_query_device(end.context, &plain), 0);
  ibv_device_attr_ex extended{};
  ASSERT_EQ(ibv_query_device_ex(end.context, nullptr, &extended), 0);
  EXPECT_EQ(std::memcmp(&plain, &extended.orig_attr, sizeof(plain)), 0);
  EXPECT_EQ(extended.phys_port_cnt_ex, plain.phys_port_cnt);
  EXPECT_NE(extended.completion_timestamp_mask, 0U);
  EXPECT_EQ(extended.odp_caps.general_caps, 0U);
  const ibv_query_device_ex_input unknown = {.comp_mask = 1};
  EXPECT_EQ(ibv_query_device_ex(end.context, &unknown, &extended), EINVAL);
}

TEST(Interface, MissingPortsGidsAndKeysAreRefused) {
  const Endpoint end;
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(end.context, 0, &port), EINVAL);
  EXPECT_EQ(ibv_query_port(end.context, 2, &port), EINVAL);
  ASSERT_EQ(ibv_query_port(end.context, 1, &port), 0);
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(end.context, 1, port.gid_tbl_len, &gid), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_query_gid(end.context, 1, -1, &gid), -1);
  __be16 key = 0;
  EXPECT_EQ(ibv_query_pkey(end.context, 1, port.pkey_tbl_len, &key), -1);
  ASSERT_EQ(ibv_query_pkey(end.context, 1, 0, &key), 0);
  EXPECT_EQ(ibv_get_pkey_index(end.context, 1, key), 0);
  ibv_gid_entry entry{};
  EXPECT_EQ(ibv_query_gid_ex(end.context, 1, 99, &entry, 0), EINVAL);
  ASSERT_EQ(ibv_query_gid_ex(end.context, 1, 0, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_IB));
}

TEST(Interface, ImpossibleCompletionQueuesAreRefused) {
  const Endpoint end;
  const auto refused_with = [&](auto&& spoil) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 16;
    spoil(attributes);
    ibv_cq_ex* cq = ibv_create_cq_ex(end.context, &attributes);
    if (cq == nullptr) return errno;
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    return 0;
  };
  const auto with_flags = [](std::uint32_t flags) {
    return [flags](ibv_cq_init_attr_ex& a) {
      a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
      a.flags = flags;
    };
  };
  EXPECT_EQ(refused_with([](auto&) {}), 0);
  EXPECT_EQ(refused_with([](auto& a) { a.cqe = 0; }), EINVAL);
  EXPECT_EQ(refused_with([](auto& a) { a.cqe = 1U << 30; }), EINVAL);
  EXPECT_EQ(refused_with([](auto& a) { a.comp_vector = 100'000; }), EINVAL);
  EXPECT_EQ(refused_with([](auto& a) { a.wc_flags = IBV_WC_EX_WITH_FLOW_TAG; }), EOPNOTSUPP);
  EXPECT_EQ(refused_with([](auto& a) { a.comp_mask = 1U << 20; }), EOPNOTSUPP);
  EXPECT_EQ(refused_with(with_flags(IBV_CREATE_CQ_ATTR_SINGLE_THREADED)), 0);
  EXPECT_EQ(refused_with(with_flags(1U << 20)), EOPNOTSUPP);
}

TEST(Interface, InvalidAddressesAreRefused) {
  const Endpoint end;
  const auto refused = [&](auto&& spoil) {
    ibv_ah_attr vector = Endpoint::vector_to(end.address());
    spoil(vector);
    ibv_ah* ah = ibv_create_ah(end.pd, &vector);
    if (ah == nullptr) return errno == EINVAL;
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
    return false;
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& v) { v.port_num = 0; }));
  EXPECT_TRUE(refused([](auto& v) { v.port_num = 2; }));
  EXPECT_TRUE(refused([](auto& v) { v.sl = 16; }));
  EXPECT_TRUE(refused([](auto& v) { v.grh.sgid_index = 77; }));
}

TEST(Interface, ForkNeedsNoPreparation) {
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

TEST(Interface, AListIsPostedUpToItsFirstMistake) {
  Pair pair;
  std::vector<ibv_sge> list = {pair.a.sge(0, 8)};
  ibv_send_wr third = pair.a.request(IBV_WR_RDMA_WRITE, 3, list);
  ibv_send_wr second = pair.a.request(IBV_WR_RDMA_WRITE, 2, list);
  ibv_send_wr first = pair.a.request(IBV_WR_RDMA_WRITE, 1, list);
  first.next = &second;
  second.next = &third;
  second.num_sge = 100;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair.a.qp, &first, &bad), EINVAL);
  EXPECT_EQ(bad, &second);
  EXPECT_EQ(pair.a.sent().wr_id, 1U);
  EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
  EXPECT_EQ(pair.a.state(), IBV_QPS_RTS);

  ibv_recv_wr deeper{}, shallow{};
  shallow.next = &deeper;
  deeper.num_sge = 100;
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(pair.b.qp, &shallow, &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &deeper);
  for (int i = 0; i < 63; ++i) ASSERT_EQ(pair.b.post_recv(1, {}), 0);
  EXPECT_EQ(pair.b.post_recv(1, {}), ENOMEM);
}

TEST(Interface, OperationsOfOtherQueuePairTypesAreRefused) {
  Pair pair;
  std::vector<ibv_sge> list = {pair.a.sge(0, 8)};
  for (const ibv_wr_opcode opcode : {IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_TSO}) {
    EXPECT_EQ(pair.a.post_send(opcode, 1, list), EOPNOTSUPP);
  }
  EXPECT_EQ(pair.a.post_send(IBV_WR_RDMA_READ, 1, list, 0, IBV_SEND_INLINE), EINVAL);
  EXPECT_EQ(ibv_resize_cq(pair.a.send_cq, 512), EOPNOTSUPP);
  const ibv_gid group{};
  EXPECT_EQ(ibv_attach_mcast(pair.a.qp, &group, 0), EOPNOTSUPP);
}

TEST(Interface, AFencedSendSeesTheDataOfTheReadBeforeIt) {
  Pair pair;
  *pair.b.data(0) = std::byte{42};
  *pair.a.data(0) = std::byte{1};
  ASSERT_EQ(pair.b.post_recv(1, {pair.b.sge(100, 1)}), 0);
  ASSERT_EQ(weft_soft_inject("delay:at=1,by=5ms"), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_READ, 1, {pair.a.sge(0, 1)}, 0, 0), 0);
  ASSERT_EQ(
      pair.a.post_send(IBV_WR_SEND, 2, {pair.a.sge(0, 1)}, 0, IBV_SEND_SIGNALED | IBV_SEND_FENCE),
      0);
  EXPECT_EQ(pair.a.sent().wr_id, 2U);
  EXPECT_EQ(pair.b.received().status, IBV_WC_SUCCESS);
  EXPECT_EQ(*pair.b.data(100), std::byte{42});
  EXPECT_EQ(weft_soft_inject(""), 0);
}

TEST(Interface, TheFirstMessageTellsAReceiverThatItIsConnected) {
  Options options;
  options.timeout = 18;
  Endpoint a(options), b(options);
  const Address to_a = a.address();
  a.connect(b.address());
  ASSERT_EQ(b.to_init(), 0);
  ASSERT_EQ(b.to_rtr(to_a), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(a.post_send(IBV_WR_RDMA_WRITE, 1, {a.sge(0, 8)}), 0);
    ASSERT_EQ(a.sent().status, IBV_WC_SUCCESS);
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.element.qp, b.qp);
  ibv_ack_async_event(&event);
  ASSERT_EQ(b.to_rts(), 0);
  ASSERT_EQ(b.post_send(IBV_WR_RDMA_WRITE, 1, {b.sge(0, 8)}), 0);
}

}  // namespace
}  // namespace weft::soft::test::interface_test
