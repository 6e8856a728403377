// Nothing outside of a region is touched, wherever an operation aims.
#include <rapidcheck.h>

#include <memory>

#include "tests/soft/endpoint.hpp"

namespace weft::soft::test::bounds_test {
namespace {

constexpr std::byte kGuard{0x5a};

/// A region in the midst of the memory, and operations in, at and across its edges.
TEST(Bounds, AnOperationIsCarriedOutExactlyIfAllOfItLiesInTheRegion) {
  constexpr std::int64_t begin = 8192, length = 512, slack = 80;
  auto pair = std::make_unique<Pair>();
  ibv_mr* inner = nullptr;
  const auto renew = [&] {
    if (inner != nullptr) RC_ASSERT(ibv_dereg_mr(inner) == 0);
    pair = std::make_unique<Pair>();
    inner = ibv_reg_mr(pair->b.pd, pair->b.data(begin), length, kAllAccess);
    std::ranges::fill(pair->b.memory(), kGuard);
  };
  renew();
  EXPECT_TRUE(rc::check([&] {
    const auto opcode =
        *rc::gen::element(IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD);
    const bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    auto offset = *rc::gen::inRange<std::int64_t>(-slack, length + slack);
    auto bytes = *rc::gen::inRange<std::int64_t>(1, length + slack);
    if (atomic) offset = offset / 8 * 8;
    if (atomic) bytes = 8;
    const bool inside = offset >= 0 && offset + bytes <= length;
    std::ranges::fill(pair->a.memory(), std::byte{7});
    pair->a.peer.rkey = inner->rkey;
    const ibv_sge sge = pair->a.sge(0, static_cast<std::size_t>(bytes));
    const auto place = static_cast<std::uint64_t>(begin + offset);
    const int error = atomic ? pair->a.post_atomic(opcode, 1, sge, place, 1)
                             : pair->a.post_send(opcode, 1, {sge}, place);
    RC_ASSERT(error == 0);
    RC_ASSERT(pair->a.sent().status == (inside ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR));
    for (std::int64_t i = 0; i < begin + 2 * length; ++i) {
      const bool changed = inside && i >= begin + offset && i < begin + offset + bytes;
      if (!changed) RC_ASSERT(*pair->b.data(static_cast<std::size_t>(i)) == kGuard);
    }
    std::ranges::fill(pair->b.memory(), kGuard);
    if (!inside) renew();
  }));
  EXPECT_EQ(ibv_dereg_mr(inner), 0);
}

}  // namespace
}  // namespace weft::soft::test::bounds_test
