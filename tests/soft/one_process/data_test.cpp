// Every operation moves exactly the bytes it should, and no other.
#include <rapidcheck.h>

#include <atomic>
#include <numeric>

#include "tests/soft/endpoint.hpp"

namespace weft::soft::test::data_test {
namespace {

constexpr std::byte kGuard{0xa5};

struct Shape {
  std::size_t bytes;
  std::size_t offset;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.bytes << " bytes at " << shape.offset;
}

class Transfers : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    fill(pair.a.memory(), 1);
    std::ranges::fill(pair.b.memory(), kGuard);
  }
  /// b holds a's first bytes at `offset`, and guards around them.
  void expect_placed(std::size_t offset, std::size_t bytes) {
    const auto memory = pair.b.memory();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const bool inside = i >= offset && i < offset + bytes;
      ASSERT_EQ(memory[i], inside ? *pair.a.data(i - offset) : kGuard) << "byte " << i;
    }
  }
  Pair pair;
};

TEST_P(Transfers, Write) {
  const auto [bytes, offset] = GetParam();
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 5, {pair.a.sge(0, bytes)}, offset), 0);
  const ibv_wc wc = pair.a.sent();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(wc.wr_id, 5U);
  EXPECT_EQ(wc.qp_num, pair.a.qp->qp_num);
  EXPECT_TRUE(pair.b.quiet(pair.b.recv_cq));
  expect_placed(offset, bytes);
}

TEST_P(Transfers, WriteWithImmediate) {
  const auto [bytes, offset] = GetParam();
  ASSERT_EQ(pair.b.post_recv(77, {}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE_WITH_IMM, 6, {pair.a.sge(0, bytes)}, offset,
                             IBV_SEND_SIGNALED, 0x01020304),
            0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  const ibv_wc wc = pair.b.received();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.wr_id, 77U);
  EXPECT_EQ(wc.byte_len, bytes);
  EXPECT_EQ(wc.imm_data, 0x01020304U);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  expect_placed(offset, bytes);
}

TEST_P(Transfers, Send) {
  const auto [bytes, offset] = GetParam();
  ASSERT_EQ(pair.b.post_recv(78, {pair.b.sge(offset, bytes + 16)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 7, {pair.a.sge(0, bytes)}), 0);
  EXPECT_EQ(pair.a.sent().opcode, IBV_WC_SEND);
  const ibv_wc wc = pair.b.received();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_EQ(wc.byte_len, bytes);
  EXPECT_EQ(wc.src_qp, pair.a.qp->qp_num);
  EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  expect_placed(offset, bytes);
}

TEST_P(Transfers, SendWithImmediate) {
  const auto [bytes, offset] = GetParam();
  ASSERT_EQ(pair.b.post_recv(79, {pair.b.sge(offset, bytes)}), 0);
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND_WITH_IMM, 8, {pair.a.sge(0, bytes)}, 0, IBV_SEND_SIGNALED,
                             0xfeed),
            0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  const ibv_wc wc = pair.b.received();
  EXPECT_EQ(wc.imm_data, 0xfeedU);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  expect_placed(offset, bytes);
}

TEST_P(Transfers, Read) {
  const auto [bytes, offset] = GetParam();
  // Read b's guarded memory into a: the roles of expect_placed are swapped by hand.
  fill(pair.b.memory(), 2);
  std::ranges::fill(pair.a.memory(), kGuard);
  ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_READ, 9, {pair.a.sge(100, bytes)}, offset), 0);
  const ibv_wc wc = pair.a.sent();
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(wc.byte_len, bytes);
  for (std::size_t i = 0; i < pair.a.memory().size(); ++i) {
    const bool inside = i >= 100 && i < 100 + bytes;
    ASSERT_EQ(*pair.a.data(i), inside ? *pair.b.data(offset + i - 100) : kGuard) << "byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Transfers,
                         ::testing::Values(Shape{0, 0}, Shape{1, 0}, Shape{1, 7}, Shape{3, 5},
                                           Shape{8, 0}, Shape{8, 3}, Shape{15, 1}, Shape{16, 8},
                                           Shape{17, 4090}, Shape{4096, 1}, Shape{65536, 0},
                                           Shape{65543, 13}, Shape{200000, 4096}));

TEST(Data, ScatterGatherOfAnyShape) {
  Pair pair;
  EXPECT_TRUE(rc::check("send and write move gathered bytes in order", [&] {
    const auto lengths =
        *rc::gen::container<std::vector<std::size_t>>(4, rc::gen::inRange<std::size_t>(0, 300));
    const auto split =
        *rc::gen::container<std::vector<std::size_t>>(4, rc::gen::inRange<std::size_t>(0, 400));
    const std::size_t bytes = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    fill(pair.a.memory(), static_cast<unsigned>(bytes));
    std::ranges::fill(pair.b.memory(), kGuard);
    std::vector<ibv_sge> gather, scatter;
    std::vector<std::byte> expected;
    std::size_t at = 0;
    for (const std::size_t length : lengths) {
      gather.push_back(pair.a.sge(at, length));
      expected.insert(expected.end(), pair.a.data(at), pair.a.data(at + length));
      at += length + 11;
    }
    at = 5;
    std::size_t room = 0;
    for (std::size_t i = 0; i < split.size(); ++i) {
      const std::size_t length = i + 1 < split.size() ? split[i] : bytes;  // it always fits
      scatter.push_back(pair.b.sge(at, length));
      at += length + 7;
      room += length;
    }
    RC_ASSERT(pair.b.post_recv(1, scatter) == 0);
    RC_ASSERT(pair.a.post_send(IBV_WR_SEND, 2, gather) == 0);
    RC_ASSERT(pair.a.sent().status == IBV_WC_SUCCESS);
    RC_ASSERT(pair.b.received().byte_len == bytes);
    std::vector<std::byte> landed;
    for (const ibv_sge& sge : scatter) {
      const auto* from = reinterpret_cast<const std::byte*>(sge.addr);
      landed.insert(landed.end(), from,
                    from + std::min<std::size_t>(sge.length, bytes - landed.size()));
    }
    RC_ASSERT(landed == expected);
    RC_ASSERT(pair.a.post_send(IBV_WR_RDMA_WRITE, 3, gather, 100000) == 0);
    RC_ASSERT(pair.a.sent().status == IBV_WC_SUCCESS);
    RC_ASSERT(std::equal(expected.begin(), expected.end(), pair.b.data(100000)));
  }));
}

TEST(Data, InlineMayBeOverwrittenAtOnceAndNeedsNoRegistration) {
  Pair pair;
  std::vector<std::byte> text(256);
  fill(text, 3);
  const std::vector<std::byte> original = text;
  std::vector<ibv_sge> list = {{reinterpret_cast<std::uint64_t>(text.data()), 256, 0xdead}};
  // No receive is posted: the request waits, and must hold a copy of its inline bytes.
  ASSERT_EQ(pair.a.post_send(IBV_WR_SEND, 1, list, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
  std::ranges::fill(text, kGuard);
  ASSERT_EQ(pair.b.post_recv(2, {pair.b.sge(0, 256)}), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.b.received().byte_len, 256U);
  EXPECT_TRUE(std::equal(original.begin(), original.end(), pair.b.data()));
  list[0].length = 257;
  std::vector<std::byte> longer(257);
  list[0].addr = reinterpret_cast<std::uint64_t>(longer.data());
  EXPECT_EQ(pair.a.post_send(IBV_WR_SEND, 1, list, 0, IBV_SEND_INLINE), EINVAL);
}

TEST(Data, AtomicsReturnTheOldValue) {
  Pair pair;
  auto* word = reinterpret_cast<std::uint64_t*>(pair.b.data(64));
  auto* result = reinterpret_cast<std::uint64_t*>(pair.a.data(8));
  *word = 40;
  ASSERT_EQ(pair.a.post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, pair.a.sge(8, 8), 64, 2), 0);
  EXPECT_EQ(pair.a.sent().opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(*word, 42U);
  EXPECT_EQ(*result, 40U);
  ASSERT_EQ(pair.a.post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 1, pair.a.sge(8, 8), 64, 42, 7), 0);
  EXPECT_EQ(pair.a.sent().opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(*word, 7U);
  EXPECT_EQ(*result, 42U);
  ASSERT_EQ(pair.a.post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 1, pair.a.sge(8, 8), 64, 42, 8), 0);
  EXPECT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
  EXPECT_EQ(*word, 7U);
  EXPECT_EQ(*result, 7U);
}

TEST(Data, TheLastWordOfAWriteAppearsLast) {
  Pair pair;
  constexpr std::size_t bytes = 4096;
  constexpr int rounds = 2000;
  auto flag = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(pair.b.data(bytes - 8)));
  std::atomic<int> seen{0};
  std::jthread reader([&] {
    for (int round = 1; round <= rounds; ++round) {
      const auto deadline = Clock::now() + kPatience;
      while (flag.load(std::memory_order_acquire) != static_cast<std::uint64_t>(round)) {
        if (Clock::now() > deadline) return;
        std::this_thread::yield();
      }
      for (std::size_t i = 0; i + 8 < bytes; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, pair.b.data(i), sizeof(word));
        if (word != static_cast<std::uint64_t>(round)) return;
      }
      seen = round;
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      const auto word = static_cast<std::uint64_t>(round);
      std::memcpy(pair.a.data(i), &word, sizeof(word));
    }
    ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 1, {pair.a.sge(0, bytes)}), 0);
    ASSERT_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
    const auto deadline = Clock::now() + kPatience;
    while (seen != round && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(seen, round);
  }
}

TEST(Data, UnsignalledRequestsCompleteSilentlyAndFreeTheirSlotsWithTheNextSignalledOne) {
  Pair pair;
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < 63; ++i) {
      ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, i, {pair.a.sge(0, 8)}, 8 * i, 0), 0);
    }
    EXPECT_TRUE(pair.a.quiet(pair.a.send_cq));
    ASSERT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 63, {pair.a.sge(0, 8)}), 0);
    EXPECT_EQ(pair.a.post_send(IBV_WR_RDMA_WRITE, 64, {pair.a.sge(0, 8)}), ENOMEM);
    EXPECT_EQ(pair.a.sent().wr_id, 63U);
  }
}

TEST(Data, BothDirectionsAtOnceFromTwoThreads) {
  Pair pair;
  constexpr int messages = 2000;
  const auto run = [&](Endpoint& mine) {
    int sent = 0, received = 0, posted = 0;
    for (int i = 0; i < 32; ++i) {
      if (mine.post_recv(0, {mine.sge(4096, 64)}) != 0) return false;
    }
    // Where cores are scarce, the two take turns of a few messages each: what must not happen is
    // that nothing moves.
    auto deadline = Clock::now() + kPatience;
    while (sent < messages || received < messages) {
      if (Clock::now() > deadline) return false;
      if (posted < messages && posted - sent < 16) {
        if (mine.post_send(IBV_WR_SEND, 1, {mine.sge(0, 64)}) != 0) return false;
        ++posted;
      }
      ibv_wc wc{};
      while (ibv_poll_cq(mine.send_cq, 1, &wc) == 1) {
        if (wc.status != IBV_WC_SUCCESS) return false;
        ++sent;
        deadline = Clock::now() + kPatience;
      }
      while (ibv_poll_cq(mine.recv_cq, 1, &wc) == 1) {
        if (wc.status != IBV_WC_SUCCESS) return false;
        ++received;
        deadline = Clock::now() + kPatience;
        if (mine.post_recv(0, {mine.sge(4096, 64)}) != 0) return false;
      }
    }
    return true;
  };
  bool other = false;
  std::thread thread([&] { other = run(pair.b); });
  EXPECT_TRUE(run(pair.a));
  thread.join();
  EXPECT_TRUE(other);
}

}  // namespace
}  // namespace weft::soft::test::data_test
