// Requests in pieces: each piece of all blocks is begun by itself, and comes by itself.
#include <gtest/gtest.h>

#include <random>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::request_pieces_test {
namespace {

using test::none;
using test::run_ranks;
using Bytes = std::vector<unsigned char>;

Options on(const char* machine, bool progress_thread = false) {
  Options options = test::on(machine);
  options.progress_thread = progress_thread;
  return options;
}

/// An alltoall in pieces with its buffers. What has not come is kNothing.
class Exchange {
 public:
  Exchange(Communicator& comm, std::size_t block, std::size_t piece)
      : ranks_(static_cast<std::size_t>(comm.size())),
        rank_(static_cast<std::size_t>(comm.rank())),
        block_(block),
        piece_(piece),
        in_(block * ranks_),
        out_(block * ranks_),
        request_(comm.alltoall_pieces_init(in_.data(), out_.data(), block, piece)) {}

  Request& request() { return request_; }
  std::size_t pieces() const { return block_ == 0 ? 1 : (block_ + piece_ - 1) / piece_; }
  void clear() { std::ranges::fill(out_, kNothing); }

  /// Writes the input of a piece.
  void fill(std::size_t piece, unsigned round) {
    for_each_byte(piece, [&](std::size_t to, std::size_t at) {
      in_[to * block_ + at] = value(rank_, to, at, round);
    });
  }
  /// Bytes of a piece that are not as they must be where it has come, or has not been begun.
  std::size_t wrong_bytes(std::size_t piece, unsigned round, bool is_here) const {
    std::size_t wrong = 0;
    for_each_byte(piece, [&](std::size_t from, std::size_t at) {
      const auto right = is_here ? value(from, rank_, at, round) : kNothing;
      wrong += out_[from * block_ + at] == right ? 0 : 1;
    });
    return wrong;
  }

 private:
  static constexpr unsigned char kNothing = 255;
  static unsigned char value(std::size_t from, std::size_t to, std::size_t at, unsigned round) {
    return static_cast<unsigned char>((from * 31 + to * 57 + at * 7 + at / 251 + round * 13) % 255);
  }
  template <class Function>
  void for_each_byte(std::size_t piece, Function function) const {
    const std::size_t end = std::min(block_, (piece + 1) * piece_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      for (std::size_t at = piece * piece_; at < end; ++at) function(rank, at);
    }
  }

  std::size_t ranks_, rank_, block_, piece_;
  Bytes in_, out_;
  Request request_;
};

class Pieces : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(Pieces, AreBegunAndComeOneByOne) {
  const auto [machine, thread] = GetParam();
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&, machine = machine, thread = thread](
                                           int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on(machine, thread));
    std::mt19937 shared(7);
    std::mt19937 own(static_cast<unsigned>(rank));
    for (unsigned round = 0; round < 25; ++round) {
      const std::size_t block = shared() % 8 == 0 ? shared() % 3 : shared() % 30'000;
      const std::size_t piece = 1 + shared() % std::max<std::size_t>(1, block / (1 + shared() % 8));
      const std::size_t most = std::max(piece, (block + 19) / 20);
      Exchange exchange(comm, block, most);
      ASSERT_EQ(exchange.request().pieces(), exchange.pieces());
      // Twice, as requests are persistent.
      for (unsigned again = 0; again < 2; ++again) {
        exchange.clear();
        const std::size_t alone = shared() % (exchange.pieces() + 1);
        for (std::size_t i = 0; i < alone; ++i) {
          exchange.fill(i, round + again);
          exchange.request().start_piece();
          if (own() % 4 == 0) exchange.request().test_piece(own() % (i + 1));
        }
        for (std::size_t i = alone; i < exchange.pieces(); ++i) {
          ASSERT_EQ(exchange.wrong_bytes(i, round + again, false), 0u) << "piece " << i;
          exchange.fill(i, round + again);
        }
        if (alone < exchange.pieces()) exchange.request().start();
        for (std::size_t i = 0; i < exchange.pieces(); ++i) {
          if (own() % 2 == 0) {
            exchange.request().wait_piece(i);
          } else {
            while (!exchange.request().test_piece(i)) std::this_thread::yield();
          }
          ASSERT_EQ(exchange.wrong_bytes(i, round + again, true), 0u) << "piece " << i;
        }
        exchange.request().wait();
      }
    }
  });
  EXPECT_EQ(errors, none(ranks));
}

INSTANTIATE_TEST_SUITE_P(Machines, Pieces,
                         testing::Combine(testing::Values("1x1", "1x3", "2x1", "2x2", "0,1,1,0"),
                                          testing::Bool()));

TEST(PiecesOfARequest, ThatWereNotBegunAreRefused) {
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x2"));
    Bytes in(200), out(200);
    const auto line_of = [](auto call) -> std::string {
      try {
        call();
      } catch (const UsageError& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(line_of([&] { comm.alltoall_pieces_init(in.data(), out.data(), 100, 0); }),
              "alltoall of 2 blocks of 100 bytes in pieces of 0 bytes: at least 1 is allowed");
    EXPECT_EQ(line_of([&] { comm.alltoall_pieces_init(in.data(), in.data(), 100, 10); }),
              "alltoall of 2 blocks of 100 bytes in pieces of 10 bytes: not in place");
    Request request = comm.alltoall_pieces_init(in.data(), out.data(), 100, 40);
    EXPECT_EQ(request.pieces(), 3u);
    EXPECT_EQ(line_of([&] { request.wait_piece(0); }),
              "wait_piece 0 of a request of alltoall with 3 pieces, of which 0 are begun");
    request.start_piece();
    EXPECT_EQ(line_of([&] { request.test_piece(1); }),
              "test_piece 1 of a request of alltoall with 3 pieces, of which 1 is begun");
    request.start();
    EXPECT_EQ(line_of([&] { request.start_piece(); }),
              "a request of alltoall was started that is under way");
    request.wait();
    EXPECT_TRUE(request.test_piece(2));  // until it is begun anew
    Request other = comm.barrier_init();
    EXPECT_EQ(other.pieces(), 1u);
  });
  EXPECT_EQ(errors, none(2));
}

}  // namespace
}  // namespace weft::request_pieces_test
