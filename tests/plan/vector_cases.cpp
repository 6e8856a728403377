#include "tests/plan/vector_cases.hpp"

#include <algorithm>
#include <numeric>

#include "plan/builder.hpp"

namespace weft::plan::testing {

namespace {

int pick(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

/// Blocks of `sizes` in random order, some of them apart.
std::vector<Block> placed(std::mt19937& random, const std::vector<std::uint64_t>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  std::vector<Block> blocks(sizes.size());
  std::uint64_t offset = 0;
  for (const std::size_t i : order) {
    offset += static_cast<std::uint64_t>(pick(random, 0, 1));
    blocks[i] = {offset, sizes[i]};
    offset += sizes[i];
  }
  return blocks;
}

Slice slice(Space space, int owner, Block block) {
  return Slice::contiguous(space, owner, block.offset, block.bytes);
}

void add_exchange(Builder& plan, const Problem& problem, const std::vector<int>& nodes) {
  const int self = plan.rank();
  const auto node = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
  const auto in = [&](int from, int to) {
    return slice(Space::input, from, problem.sent(from, to));
  };
  const auto out = [&](int to, int from) {
    return slice(Space::output, to, problem.received(to, from));
  };
  plan.copy(out(self, self), in(self, self));
  // In a stage the blocks lie by rank.
  const auto staged = [&](int owner, int to) {
    std::uint64_t offset = 0;
    for (int rank = 0; rank < to; ++rank) offset += problem.sent(owner, rank).bytes;
    return Slice::contiguous(Space::stage, owner, offset, problem.sent(owner, to).bytes);
  };
  plan.allocate_stage(staged(self, problem.ranks - 1).end() + 64);
  for (int peer = 0; peer < problem.ranks; ++peer) {
    if (peer == self || node(peer) != node(self) || in(self, peer).empty()) continue;
    plan.signal(peer, plan.copy(staged(self, peer), in(self, peer)));
  }
  for (int peer = 0; peer < problem.ranks; ++peer) {
    if (peer == self) continue;
    if (node(peer) != node(self)) {
      plan.recv(peer, out(self, peer));
      plan.send(peer, in(self, peer));
    } else if (!out(self, peer).empty()) {
      plan.copy(out(self, peer), staged(peer, self), plan.wait(peer));
    }
  }
}

void add_swaps(Builder& plan, const Problem& problem) {
  const int self = plan.rank();
  for (int peer = 0; peer < problem.ranks; ++peer) {
    const Slice block = slice(Space::output, self, problem.received(self, peer));
    if (peer == self || block.empty()) continue;
    const Slice held = plan.allocate_scratch(block.bytes());
    const OpId received = plan.recv(peer, held);
    plan.copy(block, held, {received, plan.send(peer, block)});
  }
}

}  // namespace

Problem random_alltoallv_problem(std::mt19937& random, int ranks, bool in_place) {
  Problem problem{Collective::alltoallv, ranks};
  problem.in_place = in_place;
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<std::uint64_t>> sizes(n, std::vector<std::uint64_t>(n));
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      const bool mirrored = in_place && to < from;
      sizes[from][to] =
          mirrored ? sizes[to][from] : static_cast<std::uint64_t>(std::max(0, pick(random, -1, 4)));
    }
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    std::vector<std::uint64_t> column;
    for (std::size_t from = 0; from < n; ++from) column.push_back(sizes[from][rank]);
    problem.receives.push_back(placed(random, column));
    if (!in_place) problem.sends.push_back(placed(random, sizes[rank]));
  }
  return problem;
}

Case random_alltoallv(std::mt19937& random, int max_ranks) {
  const bool in_place = random() % 2 == 0;
  const int ranks = pick(random, 1, max_ranks);
  Case made{in_place ? "swaps" : "vector",
            random_alltoallv_problem(random, ranks, in_place),
            random_nodes(random, ranks),
            {}};
  for (int rank = 0; rank < ranks; ++rank) {
    Builder plan(rank, ranks, made.problem.input_bytes(rank), made.problem.output_bytes(rank));
    in_place ? add_swaps(plan, made.problem) : add_exchange(plan, made.problem, made.node_of_rank);
    made.plans.push_back(std::move(plan).finish());
  }
  return made;
}

}  // namespace weft::plan::testing
