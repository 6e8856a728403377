// Scatter and gather of blocks of different sizes that are longer than what goes at once: each rank
// packs its blocks or has them in one piece, whatever the others do.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "comm/irregular/rooted_exchange.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::rooted_pieces_test {
namespace {

using test::none;
using test::run_ranks;

constexpr std::size_t kPiece = comm::RootedExchange::kPieceBytes;

std::byte value(int rank, std::size_t at, unsigned seed) {
  return static_cast<std::byte>(static_cast<std::size_t>(rank) * 31 + at * 13 + at / 65521 + seed);
}

/// What the root has of each rank: nothing, little, and some pieces with and without a rest.
std::vector<std::size_t> block_sizes(int ranks, unsigned seed) {
  constexpr std::size_t kSizes[] = {0, 1, 3000, kPiece / 3, kPiece, kPiece + 1, 4 * kPiece - 5};
  std::mt19937 random(seed);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < ranks; ++i) sizes.push_back(kSizes[random() % std::size(kSizes)]);
  return sizes;
}

/// One call by a rank that packs, or does not. Of packed blocks no memory has more than the limit.
class Exchange {
 public:
  Exchange(Communicator& comm, unsigned seed, int root, bool packs)
      : comm_(comm), seed_(seed), root_(root), packs_(packs) {
    sizes_ = block_sizes(comm.size(), seed);
    for (const std::size_t size : sizes_) {
      parts_.push_back({end_, size});
      end_ += size + 3;
    }
  }

  std::string gather() {
    const std::size_t bytes = own();
    if (packs_) {
      comm_.gatherw(bytes, is_root() ? sizes_ : std::vector<std::size_t>(), packer(), root_);
      return judge_unpacked(is_root());
    }
    std::vector<std::byte> input(bytes), output(is_root() ? end_ : 0, std::byte{0xa5});
    fill(input, comm_.rank());
    comm_.gather(input.data(), bytes, output.data(), parts_, root_);
    for (int rank = 0; is_root() && rank < comm_.size(); ++rank) {
      const Part& part = parts_[static_cast<std::size_t>(rank)];
      if (!is_right(std::span(output).subspan(part.offset, part.bytes), rank)) return "wrong bytes";
      if (output[part.offset + part.bytes] != std::byte{0xa5}) return "a gap was written";
    }
    return "";
  }

  std::string scatter() {
    const std::size_t bytes = own();
    if (packs_) {
      comm_.scatterw(is_root() ? sizes_ : std::vector<std::size_t>(), bytes, packer(), root_);
      return judge_unpacked(!is_root());
    }
    std::vector<std::byte> input(is_root() ? end_ : 0), output(bytes);
    for (int rank = 0; is_root() && rank < comm_.size(); ++rank) {
      const Part& part = parts_[static_cast<std::size_t>(rank)];
      fill(std::span(input).subspan(part.offset, part.bytes), rank);
    }
    comm_.scatter(input.data(), parts_, output.data(), bytes, root_);
    return is_right(output, comm_.rank()) ? "" : "wrong bytes";
  }

 private:
  bool is_root() const { return comm_.rank() == root_; }
  std::size_t own() const { return sizes_[static_cast<std::size_t>(comm_.rank())]; }
  void fill(std::span<std::byte> bytes, int rank) const {
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = value(rank, at, seed_);
  }
  bool is_right(std::span<const std::byte> bytes, int rank, std::size_t from = 0) const {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      if (bytes[at] != value(rank, from + at, seed_)) return false;
    }
    return true;
  }
  /// The rank whose block it is, seen from here.
  int owner(int other) const { return is_root() ? other : comm_.rank(); }

  Packer packer() {
    unpacked_.assign(sizes_.size(), 0);
    return {[this](int other, std::size_t from, std::size_t to, std::byte* packed) {
              if (to - from > kPiece) wrong_ = "too much is packed at once";
              for (std::size_t at = from; at < to; ++at)
                packed[at - from] = value(owner(other), at, seed_);
            },
            [this](int other, std::size_t from, std::size_t to, const std::byte* packed) {
              if (to - from > kPiece) wrong_ = "too much is unpacked at once";
              if (!is_right({packed, to - from}, owner(other), from)) wrong_ = "wrong packed bytes";
              std::size_t& so_far = unpacked_[static_cast<std::size_t>(owner(other))];
              if (so_far != from) wrong_ = "a piece comes out of turn";
              so_far = to;
            }};
  }
  std::string judge_unpacked(bool unpacks) const {
    for (int rank = 0; rank < comm_.size(); ++rank) {
      const bool is_mine = is_root() ? rank != root_ : rank == comm_.rank();
      const auto number = static_cast<std::size_t>(rank);
      if (unpacked_[number] != (unpacks && is_mine ? sizes_[number] : 0))
        return "a piece is missing";
    }
    return wrong_;
  }

  Communicator& comm_;
  unsigned seed_;
  int root_;
  bool packs_;
  std::vector<std::size_t> sizes_;
  std::vector<Part> parts_;  // at the root
  std::size_t end_ = 0;
  std::vector<std::size_t> unpacked_;  // by rank
  std::string wrong_;
};

/// Other collectives between the calls, which ranks leave after different numbers of pieces.
std::string exchange_often(Communicator& comm, unsigned seed) {
  std::string first_wrong;
  std::mt19937 random(seed);
  for (unsigned round = 0; round < 4; ++round) {
    const int root = static_cast<int>(random() % static_cast<unsigned>(comm.size()));
    const auto packs = static_cast<unsigned>(random());
    Exchange one(comm, seed + round, root, (packs >> comm.rank() & 1) != 0);
    std::string wrong = round % 2 == 0 ? one.gather() : one.scatter();
    const int mine = comm.rank();
    int sum = 0;
    comm.allreduce(&mine, &sum, 1, operation(Operator::sum, Type::int32));
    if (sum != comm.size() * (comm.size() - 1) / 2) wrong = "allreduce: a wrong sum";
    std::vector<int> all(static_cast<std::size_t>(comm.size()), mine);
    comm.alltoall(all.data(), all.data(), sizeof(int));
    for (int i = 0; i < comm.size(); ++i) {
      if (all[static_cast<std::size_t>(i)] != i) wrong = "alltoall: a wrong rank";
    }
    if (first_wrong.empty()) first_wrong = wrong;
  }
  return first_wrong;
}

TEST(RootedPieces, ArriveWhoeverPacks) {
  for (const auto& nodes : std::vector<std::vector<int>>{{0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1}}) {
    Options options;
    options.node_of_rank = nodes;
    const auto ranks = static_cast<int>(nodes.size());
    for (const unsigned seed : {1u, 2u, 3u}) {
      const auto errors = run_ranks(ranks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
        Communicator comm(std::move(bootstrap), options);
        if (auto wrong = exchange_often(comm, seed); !wrong.empty())
          throw std::runtime_error(wrong);
      });
      EXPECT_EQ(errors, none(ranks)) << ranks << " ranks, seed " << seed;
    }
  }
}

TEST(RootedPieces, ArriveInOtherProcesses) {
  const auto ended = test::run_processes(3, {{"WEFT_WAIT", "sleep"}}, [](int) {
    Communicator comm(tcp_bootstrap());
    return exchange_often(comm, 7);
  });
  for (const auto& one : ended) {
    EXPECT_TRUE(one.in_time);
    EXPECT_EQ(one.said, "");
  }
}

TEST(RootedPieces, ThatCannotBePackedAreAnErrorOfThoseThatWait) {
  const auto errors = run_ranks(3, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    constexpr std::size_t kBytes = 3 * kPiece;
    std::vector<std::byte> block(kBytes), all(rank == 0 ? 3 * kBytes : 0);
    if (rank != 1) {
      const std::vector<Part> parts = {{0, kBytes}, {kBytes, kBytes}, {2 * kBytes, kBytes}};
      return comm.gather(block.data(), kBytes, all.data(), parts, 0);
    }
    const auto pack = [](int, std::size_t from, std::size_t to, std::byte* packed) {
      if (from > 0) throw std::runtime_error("no more");
      std::fill_n(packed, to, std::byte{1});
    };
    comm.gatherw(kBytes, {}, {pack, nullptr}, 0);
  });
  EXPECT_EQ(errors[0], "rank 1: no more");
  EXPECT_EQ(errors[1], "rank 1: no more");
}

}  // namespace
}  // namespace weft::rooted_pieces_test
