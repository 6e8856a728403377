// The C API: its own part; the C++ API below it has tests of its own.
#include "weft/weft.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/comm/support/run_ranks.hpp"

namespace weft::c_api_test {
namespace {

/// The caller's callbacks, over a bootstrap of threads.
struct Callbacks {
  Bootstrap& over;

  static int allgather(void* context, const void* mine, void* all, size_t bytes) {
    auto& over = static_cast<Callbacks*>(context)->over;
    const auto got = over.allgather({static_cast<const char*>(mine), bytes});
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
      std::memcpy(static_cast<char*>(all) + rank * bytes, got[rank].data(), bytes);
    }
    return 0;
  }
  static int exchange(void* context, int count, const int* peers, const void* const* send,
                      void* const* recv, size_t bytes) {
    auto& over = static_cast<Callbacks*>(context)->over;
    std::vector<std::string> mine;
    for (int i = 0; i < count; ++i) mine.emplace_back(static_cast<const char*>(send[i]), bytes);
    const auto got = over.exchange({peers, static_cast<std::size_t>(count)}, mine);
    for (std::size_t i = 0; i < got.size(); ++i) std::memcpy(recv[i], got[i].data(), bytes);
    return 0;
  }
};

void on_ranks(int ranks, const std::function<void(int rank, weft_comm* comm)>& body) {
  const auto errors = test::run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> over) {
    Callbacks callbacks{*over};
    const weft_bootstrap bootstrap{&callbacks, rank, ranks, &Callbacks::allgather,
                                   &Callbacks::exchange};
    weft_comm* comm = nullptr;
    ASSERT_EQ(weft_comm_create(&bootstrap, &comm), WEFT_SUCCESS) << weft_error();
    body(rank, comm);
    weft_comm_free(comm);
  });
  ASSERT_EQ(errors, test::none(ranks));
}

TEST(CApi, RunsAnAlltoallInPieces) {
  constexpr int kRanks = 3;
  on_ranks(kRanks, [](int rank, weft_comm* comm) {
    constexpr std::size_t kBlock = 5;  // ints
    std::vector<int> in(kRanks * kBlock), out(kRanks * kBlock, -1);
    weft_request* request = nullptr;
    ASSERT_EQ(weft_alltoall_init(in.data(), out.data(), kBlock * 4, 8, comm, &request),
              WEFT_SUCCESS)
        << weft_error();
    EXPECT_EQ(weft_request_pieces(request), 3u);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = rank * 100 + static_cast<int>(i);
    EXPECT_EQ(weft_wait_piece(request, 0), WEFT_ERR_USAGE);
    EXPECT_STREQ(weft_error(),
                 "wait_piece 0 of a request of alltoall with 3 pieces, of which 0 are begun");
    EXPECT_EQ(weft_start_piece(request), WEFT_SUCCESS);
    EXPECT_EQ(weft_wait_piece(request, 0), WEFT_SUCCESS);
    EXPECT_EQ(out[kBlock + 1], 100 + rank * static_cast<int>(kBlock) + 1);
    EXPECT_EQ(out[kBlock + 2], -1);
    EXPECT_EQ(weft_start(request), WEFT_SUCCESS);
    int is_here = 0;
    while (is_here == 0) ASSERT_EQ(weft_test_piece(request, 2, &is_here), WEFT_SUCCESS);
    EXPECT_EQ(out[2 * kBlock + 4], 200 + rank * static_cast<int>(kBlock) + 4);
    EXPECT_EQ(weft_wait(request), WEFT_SUCCESS);
    EXPECT_EQ(weft_test(request, &is_here), WEFT_SUCCESS);
    EXPECT_EQ(is_here, 1);
    EXPECT_EQ(weft_test(request, nullptr), WEFT_ERR_USAGE);
    EXPECT_EQ(weft_start(nullptr), WEFT_ERR_USAGE);
    EXPECT_STREQ(weft_error(), "weft_start: a null request");
    weft_request_free(request);
    EXPECT_EQ(weft_alltoall_init(nullptr, out.data(), 4, 4, comm, &request), WEFT_ERR_USAGE);
  });
}

TEST(CApi, RunsEveryCollective) {
  constexpr int kRanks = 3;
  on_ranks(kRanks, [](int rank, weft_comm* comm) {
    const weft_operation* sum = weft_predefined(WEFT_SUM, WEFT_INT32);
    ASSERT_NE(sum, nullptr) << weft_error();
    const int r = rank;
    std::vector<int> in = {r, 10 + r, 20 + r};
    std::vector<int> out(3);
    using Ints = std::vector<int>;

    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_alltoall(in.data(), out.data(), 4, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, (Ints{10 * r, 10 * r + 1, 10 * r + 2}));
    out = in;
    EXPECT_EQ(weft_broadcast(out.data(), 12, 1, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, (Ints{1, 11, 21}));
    EXPECT_EQ(weft_scatter(in.data(), out.data(), 4, 2, comm), WEFT_SUCCESS);
    EXPECT_EQ(out[0], 10 * r + 2);
    EXPECT_EQ(weft_gather(&in[1], rank == 0 ? out.data() : nullptr, 4, 0, comm), WEFT_SUCCESS);
    if (rank == 0) {
      EXPECT_EQ(out, (Ints{10, 11, 12}));
    }
    EXPECT_EQ(weft_allgather(&in[2], out.data(), 4, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, (Ints{20, 21, 22}));
    EXPECT_EQ(weft_allreduce(in.data(), out.data(), 3, sum, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, (Ints{3, 33, 63}));
    EXPECT_EQ(weft_reduce_scatter(in.data(), out.data(), 1, sum, comm), WEFT_SUCCESS);
    EXPECT_EQ(out[0], 3 + 30 * r);
    EXPECT_EQ(weft_scan(in.data(), out.data(), 1, sum, comm), WEFT_SUCCESS);
    EXPECT_EQ(out[0], r * (r + 1) / 2);
    out[0] = -1;
    EXPECT_EQ(weft_exscan(in.data(), out.data(), 1, sum, comm), WEFT_SUCCESS);
    EXPECT_EQ(out[0], rank == 0 ? -1 : r * (r - 1) / 2);
    out = in;
    EXPECT_EQ(weft_reduce(out.data(), out.data(), 3, sum, 1, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, rank == 1 ? (Ints{3, 33, 63}) : in);
  });
}

TEST(CApi, ReducesInRankOrderByACallersOperation) {
  constexpr int kRanks = 4;
  on_ranks(kRanks, [](int rank, weft_comm* comm) {
    // Of two: the right one, where it is not 0. Associative, and does not commute.
    const auto last = [](const void* context, void* dst, const void* left, const void* right,
                         size_t elements) {
      EXPECT_EQ(*static_cast<const int*>(context), 42);
      for (size_t i = 0; i < elements; ++i) {
        const int l = static_cast<const int*>(left)[i];
        const int r = static_cast<const int*>(right)[i];
        static_cast<int*>(dst)[i] = r != 0 ? r : l;
      }
    };
    static const int context = 42;
    weft_operation* operation = nullptr;
    ASSERT_EQ(weft_operation_create(sizeof(int), 0, last, &context, &operation), WEFT_SUCCESS);
    const std::vector<int> in = {rank + 1, rank == 1 ? 7 : 0};
    std::vector<int> out(2);
    EXPECT_EQ(weft_allreduce(in.data(), out.data(), 2, operation, comm), WEFT_SUCCESS);
    EXPECT_EQ(out, (std::vector<int>{4, 7}));
    weft_operation_free(operation);
  });
}

TEST(CApi, ReportsErrorsByStatusAndText) {
  EXPECT_EQ(weft_predefined(WEFT_BITWISE_AND, WEFT_FLOAT32), nullptr);
  EXPECT_NE(std::string(weft_error()), "");
  weft_operation* operation = nullptr;
  EXPECT_EQ(weft_operation_create(4, 1, nullptr, nullptr, &operation), WEFT_ERR_USAGE);
  EXPECT_EQ(weft_barrier(nullptr), WEFT_ERR_USAGE);
  EXPECT_STREQ(weft_error(), "weft_barrier: a null communicator");
  on_ranks(1, [](int, weft_comm* comm) {
    int word = 0;
    EXPECT_EQ(weft_broadcast(nullptr, 4, 0, comm), WEFT_ERR_USAGE);
    EXPECT_EQ(weft_broadcast(&word, 4, 1, comm), WEFT_ERR_USAGE);
    EXPECT_EQ(weft_allreduce(&word, &word, 1, nullptr, comm), WEFT_ERR_USAGE);
    EXPECT_STREQ(weft_error(), "weft_allreduce: a null operation");
  });
}

}  // namespace
}  // namespace weft::c_api_test
