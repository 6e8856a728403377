// Neighbourhood exchanges through the public API, ranks as threads: random graphs, call after call,
// on one node and on several; guard bytes stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/comm/support/run_ranks.hpp"

namespace weft::neighbours_test {
namespace {

using test::none;
using test::run_ranks;

constexpr std::byte kGuard{0xa5};

/// The blocks of one call: an edge each, in the order in which its two ends match them.
struct Link {
  int from, to;
  std::size_t bytes;
};
using Graph = std::vector<Link>;

std::byte value(std::size_t link, std::size_t at, unsigned call) {
  return static_cast<std::byte>(link * 131 + at * 7 + call * 17);
}

/// Sizes of inline messages, of slots, and on both sides of the limit from which on edges go
/// straight; some ranks have no edges.
Graph any_graph(int ranks, std::mt19937& random) {
  constexpr std::size_t kAround[] = {0, 8, 248, 249, 300, 4096, 16384, 20000};
  Graph graph;
  const std::size_t count = random() % (4 * static_cast<unsigned>(ranks) + 1);
  const auto number = static_cast<unsigned>(ranks);
  const auto last = static_cast<int>(1 + random() % number);
  for (std::size_t i = 0; i < count; ++i) {
    const int from = static_cast<int>(random() % 64) % last;
    const int to = static_cast<int>(random() % 64) % last;
    graph.push_back({from, to, kAround[random() % std::size(kAround)] + random() % 3});
  }
  return graph;
}

/// The links of one rank in one direction: edges one behind another with gaps, and where they end.
std::vector<Edge> edges_of(const Graph& graph, int rank, bool out, std::size_t& end) {
  std::vector<Edge> edges;
  end = 0;
  for (const Link& link : graph) {
    if ((out ? link.from : link.to) != rank) continue;
    edges.push_back({out ? link.to : link.from, end, link.bytes});
    end += link.bytes + 5;
  }
  return edges;
}

void exchange_and_compare(Communicator& comm, const Graph& graph, unsigned call) {
  std::size_t input_end = 0, output_end = 0;
  const auto out = edges_of(graph, comm.rank(), true, input_end);
  const auto in = edges_of(graph, comm.rank(), false, output_end);
  std::vector<std::byte> input(input_end);
  std::vector<std::byte> output(output_end + 64, kGuard);
  auto right = output;
  auto next_out = out.begin(), next_in = in.begin();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (std::size_t at = 0; at < graph[i].bytes; ++at) {
      if (graph[i].from == comm.rank()) input[next_out->offset + at] = value(i, at, call);
      if (graph[i].to == comm.rank()) right[next_in->offset + at] = value(i, at, call);
    }
    next_out += graph[i].from == comm.rank();
    next_in += graph[i].to == comm.rank();
  }
  const auto untouched = input;
  comm.neighbours(input.data(), out, output.data(), in);
  ASSERT_EQ(input, untouched);
  const auto wrong = std::mismatch(output.begin(), output.end(), right.begin()).first;
  ASSERT_EQ(wrong, output.end()) << "rank " << comm.rank() << ", call " << call
                                 << ", first wrong at " << wrong - output.begin();
}

void run_graphs(const std::vector<int>& nodes, unsigned seed, int calls) {
  const auto ranks = static_cast<int>(nodes.size());
  std::mt19937 random(seed);
  // More than a communicator remembers, in an order in which most come again.
  std::vector<Graph> graphs;
  for (int i = 0; i < 20; ++i) graphs.push_back(any_graph(ranks, random));
  std::vector<std::size_t> order;
  for (int i = 0; i < calls; ++i) order.push_back(random() % 3 == 0 ? random() % 20 : random() % 4);
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Options options;
    options.node_of_rank = nodes;
    Communicator comm(std::move(bootstrap), options);
    std::vector<std::uint64_t> sent(static_cast<std::size_t>(ranks));
    std::uint64_t all = 0;
    for (unsigned call = 0; call < order.size(); ++call) {
      const Graph& graph = graphs[order[call]];
      exchange_and_compare(comm, graph, call);
      for (const Link& link : graph) {
        if (link.from != rank) continue;
        sent[static_cast<std::size_t>(link.to)] += link.bytes;
        all += link.bytes;
      }
    }
    const Statistics statistics = comm.statistics();
    EXPECT_EQ(statistics.sent_bytes, sent);
    std::uint64_t counted = 0, made = 0;
    for (const auto& entry : statistics.entries) {
      EXPECT_EQ(entry.algorithm, "neighbours");
      EXPECT_EQ(entry.collective, "alltoallv");
      counted += entry.bytes;
      made += entry.calls;
    }
    EXPECT_EQ(counted, all);
    EXPECT_EQ(made, order.size());
  });
  EXPECT_EQ(errors, none(ranks));
}

TEST(Neighbours, MoveTheEdgesOfRandomGraphsOnOneNode) {
  for (const int ranks : {1, 2, 3, 6}) {
    run_graphs(std::vector<int>(static_cast<std::size_t>(ranks)), static_cast<unsigned>(ranks), 60);
  }
}

TEST(Neighbours, MoveThemBetweenNodes) {
  run_graphs({0, 1}, 11, 40);
  run_graphs({0, 1, 0, 1, 2}, 12, 40);
}

TEST(Neighbours, FollowOtherCollectives) {
  const auto errors = run_ranks(4, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    for (int call = 0; call < 30; ++call) {
      const int to = (rank + 1) % 4, from = (rank + 3) % 4;
      const int mine = rank * 100 + call;
      int got = -1;
      const Edge out{to, 0, sizeof mine}, in{from, 0, sizeof got};
      comm.neighbours(&mine, {&out, 1}, &got, {&in, 1});
      EXPECT_EQ(got, from * 100 + call);
      std::vector<int> all(4);
      comm.allgather(&mine, all.data(), sizeof mine);
      EXPECT_EQ(all[static_cast<std::size_t>(from)], got);
    }
  });
  EXPECT_EQ(errors, none(4));
}

TEST(Neighbours, EdgesToRanksThatAreNotThereAreRefused) {
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    const Edge out{2, 0, 4};
    int value = 0;
    comm.neighbours(&value, {&out, 1}, &value, {});
  });
  for (const auto& error : errors) {
    EXPECT_NE(error.find("an edge of rank 0 with rank 2: from 0 to 1"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace weft::neighbours_test
