// Creation and destruction of objects.
#include "tests/soft/endpoint.hpp"

namespace weft::soft::test::objects_test {
namespace {

TEST(Objects, ObjectsInUseAreBusy) {
  Endpoint end;
  EXPECT_EQ(ibv_dealloc_pd(end.pd), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(end.send_cq), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(end.recv_cq), EBUSY);
  Endpoint shared(Options{.with_srq = true, .with_channel = true});
  EXPECT_EQ(ibv_destroy_srq(shared.srq), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(shared.channel), EBUSY);
}

TEST(Objects, ClosingADeviceRetiresItsRemainingObjects) {
  Endpoint end;
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  // A careless program keeps its structures after closing the device: they must stay readable.
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

TEST(Objects, AnIovaMayDifferFromTheAddress) {
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

TEST(Objects, ReregistrationMovesARegionToAnotherDomain) {
  Pair pair;
  ibv_pd* other = ibv_alloc_pd(pair.b.context);
  ASSERT_EQ(ibv_rereg_mr(pair.b.mr, IBV_REREG_MR_CHANGE_PD, other, nullptr, 0, 0), 0);
  EXPECT_EQ(pair.b.mr->pd, other);
  EXPECT_EQ(ibv_dealloc_pd(other), EBUSY);
  pair.a.peer.rkey = pair.b.mr->rkey;
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(ibv_dereg_mr(pair.b.mr), 0);
  pair.b.mr = nullptr;
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

TEST(Objects, ReregistrationThatIsRefusedAtOnceLeavesTheRegionAsItWas) {
  Pair pair;
  ibv_mr* mr = pair.b.mr;
  const std::uint32_t key = mr->rkey;
  EXPECT_EQ(ibv_rereg_mr(mr, 0, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(
      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
      IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(mr->rkey, key);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  // An error that only the device detects invalidates the region: no operation may reach it.
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
                         reinterpret_cast<void*>(4096), 4096, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 2, {pair.a.sge(0, 8)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Objects, UnsupportedCallsReportIt) {
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
}  // namespace weft::soft::test::objects_test
