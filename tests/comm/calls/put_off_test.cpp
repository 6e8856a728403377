// New calls that are refused, and the preparation that is put off of those that some ranks may
// leave early.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::put_off_test {
namespace {

using test::none;
using test::on;
using test::run_ranks;

enum Kind : unsigned {
  kBroadcast,
  kScatter,
  kGather,
  kReduce,
  kScan,
  kExscan,
  kScatterv,
  kGatherv,
  kKinds,  // that may be left early
  kAllreduce = kKinds,
  kAlltoall,
  kAllgather,
  kAlltoallv,
  kAllKinds
};
using IfNew = Communicator::IfNew;

/// Word i of what rank `from` has for rank `to`.
std::uint64_t word(int from, int to, std::size_t i) {
  return static_cast<std::uint64_t>(from) * 7919 + static_cast<std::uint64_t>(to) * 104729 + i;
}

/// A call of `words` words of a block, and whether its result is right.
void make(Communicator& comm, unsigned kind, std::size_t words, int root) {
  const int rank = comm.rank(), size = comm.size();
  const std::size_t bytes = words * sizeof(std::uint64_t);
  std::vector<std::uint64_t> in, out(static_cast<std::size_t>(size) * words);
  std::vector<Part> parts;
  for (int to = 0; to < size; ++to) {
    parts.push_back({static_cast<std::size_t>(to) * bytes, bytes});
    for (std::size_t i = 0; i < words; ++i) in.push_back(word(rank, to, i));
  }
  if (rank != root && kind != kAlltoallv) parts.clear();
  const Operation sum = operation(Operator::sum, Type::uint64);
  const auto expect_from_all = [&](int to) {
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], word(static_cast<int>(i / words), to, i % words));
  };
  switch (kind) {
    case kBroadcast:
      comm.broadcast(in.data(), bytes, root);
      for (std::size_t i = 0; i < words; ++i) EXPECT_EQ(in[i], word(root, 0, i));
      return;
    case kScatter:
    case kScatterv:
      if (kind == kScatter) comm.scatter(in.data(), out.data(), bytes, root);
      if (kind == kScatterv) comm.scatter(in.data(), parts, out.data(), bytes, root);
      for (std::size_t i = 0; i < words; ++i) EXPECT_EQ(out[i], word(root, rank, i));
      return;
    case kGather:
    case kGatherv:
      if (kind == kGather) comm.gather(in.data(), out.data(), bytes, root);
      if (kind == kGatherv) comm.gather(in.data(), bytes, out.data(), parts, root);
      if (rank == root) expect_from_all(0);
      return;
    case kAlltoall:
      comm.alltoall(in.data(), out.data(), bytes);
      return expect_from_all(rank);
    case kAlltoallv:
      comm.alltoallv(in.data(), parts, out.data(), parts);
      return expect_from_all(rank);
    case kAllgather:
      comm.allgather(in.data(), out.data(), bytes);
      return expect_from_all(0);
    default:
      break;
  }
  if (kind == kReduce) comm.reduce(in.data(), out.data(), words, sum, root);
  if (kind == kScan) comm.scan(in.data(), out.data(), words, sum);
  if (kind == kExscan) comm.exscan(in.data(), out.data(), words, sum);
  if (kind == kAllreduce) comm.allreduce(in.data(), out.data(), words, sum);
  const bool is_of_all = kind == kReduce || kind == kAllreduce;
  const int terms = is_of_all ? size : rank + (kind == kScan ? 1 : 0);
  const bool has_result = kind == kReduce ? rank == root : terms != 0;
  for (std::size_t i = 0; has_result && i < words; ++i) {
    std::uint64_t right = 0;
    for (int from = 0; from < terms; ++from) right += word(from, 0, i);
    EXPECT_EQ(out[i], right);
  }
}

bool is_refused(Communicator& comm, IfNew what, unsigned kind, std::size_t words, int root) {
  comm.if_next_is_new(what);
  try {
    make(comm, kind, words, root);
    return false;
  } catch (const NotPrepared&) {
    return true;
  }
}

bool is_put_off(Communicator& comm, unsigned kind, std::size_t words, int root) {
  return is_refused(comm, IfNew::put_off, kind, words, root);
}

/// On two nodes, or on one.
class PutOff : public testing::TestWithParam<bool> {
 protected:
  static Options placed(int ranks) {
    return on(GetParam() ? fmt::format("1+{}", ranks - 1) : fmt::format("1x{}", ranks));
  }
};

TEST_P(PutOff, NoRankWaitsInANewCall) {
  constexpr int kRanks = 3;
  auto others = thread_bootstraps(kRanks);
  const auto body = [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator one(std::move(bootstrap), placed(kRanks));
    Communicator other(std::move(others[static_cast<std::size_t>(rank)]), placed(kRanks));
    // In two orders: a rank that waited would wait for ever.
    Communicator& first = rank == 1 ? one : other;
    Communicator& second = rank == 1 ? other : one;
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      EXPECT_TRUE(is_put_off(first, kind, 5, 1)) << kind;
      EXPECT_TRUE(is_put_off(second, kind, 5, 1)) << kind;
    }
    for (Communicator* comm : {&one, &other}) {
      comm->prepare_put_off();
      for (unsigned kind = 0; kind < kKinds; ++kind)
        EXPECT_FALSE(is_put_off(*comm, kind, 5, 1)) << kind;
    }
  };
  EXPECT_EQ(run_ranks(kRanks, body), none(kRanks));
}

TEST_P(PutOff, RefusesNewCallsOfAllKindsAndPreparesNone) {
  constexpr int kRanks = 3;
  const auto body = [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), placed(kRanks));
    for (unsigned kind = 0; kind < kAllKinds; ++kind) {
      EXPECT_TRUE(is_refused(comm, IfNew::refuse, kind, 5, 1)) << kind;
      comm.prepare_put_off();
      EXPECT_TRUE(is_refused(comm, IfNew::refuse, kind, 5, 1)) << kind;
      make(comm, kind, 5, 1);
      EXPECT_FALSE(is_refused(comm, IfNew::refuse, kind, 5, 1)) << kind;
    }
    EXPECT_FALSE(is_put_off(comm, kAllreduce, 5000, 0));  // new, but all wait there
  };
  EXPECT_EQ(run_ranks(kRanks, body), none(kRanks));
}

TEST_P(PutOff, IsAskedForOneCall) {
  constexpr int kRanks = 3;
  const auto body = [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), placed(kRanks));
    make(comm, kBroadcast, 5, 0);
    EXPECT_FALSE(is_put_off(comm, kBroadcast, 5, 0));
    make(comm, kBroadcast, 5000, 0);  // new
    comm.if_next_is_new(IfNew::put_off);
    std::uint64_t mine = 1, all = 0;
    comm.allreduce(&mine, &all, 1, operation(Operator::sum, Type::uint64));  // all ranks wait here
    EXPECT_EQ(all, static_cast<std::uint64_t>(comm.size()));
    make(comm, kGather, 5, 0);
    comm.if_next_is_new(IfNew::put_off);
    comm.if_next_is_new(IfNew::prepare);
    make(comm, kScatter, 5, 0);
  };
  EXPECT_EQ(run_ranks(kRanks, body), none(kRanks));
}

TEST_P(PutOff, IsAlikeOnAllRanks) {
  constexpr int kRanks = 4;
  std::vector<std::string> histories(kRanks);
  const auto body = [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), placed(kRanks));
    std::mt19937 same(11);
    std::string& history = histories[static_cast<std::size_t>(rank)];
    for (int call = 0; call < 400; ++call) {
      const auto kind = static_cast<unsigned>(same() % kAllKinds);
      const IfNew what = same() % 2 == 0 ? IfNew::put_off : IfNew::refuse;
      const std::size_t words = 1 + same() % (same() % 8 == 0 ? 20'000 : 40);
      const int root = static_cast<int>(same() % kRanks);
      const bool may_wait = same() % 10 == 0;
      if (may_wait && same() % 2 == 0) comm.prepare_put_off();
      if (may_wait) {
        make(comm, kind, words, root);
      } else {
        history += is_refused(comm, what, kind, words, root) ? 'p' : '.';
      }
    }
  };
  EXPECT_EQ(run_ranks(kRanks, body), none(kRanks));
  for (const std::string& one : histories) EXPECT_EQ(one, histories.front());
  EXPECT_NE(histories.front().find('p'), std::string::npos);
  EXPECT_NE(histories.front().find('.'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Nodes, PutOff, testing::Bool(), [](const auto& nodes) {
  return std::string(nodes.param ? "two" : "one");
});

}  // namespace
}  // namespace weft::put_off_test
