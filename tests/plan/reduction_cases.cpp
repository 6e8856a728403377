#include "tests/plan/reduction_cases.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "plan/builder.hpp"

namespace weft::plan::testing {

namespace {

template <class Generate>
Case make(std::string name, const Problem& problem, std::vector<int> node_of_rank,
          Generate generate) {
  Case made{std::move(name), problem, std::move(node_of_rank), {}};
  for (int rank = 0; rank < problem.ranks; ++rank) {
    Builder plan(rank, problem.ranks, problem.input_bytes(rank), problem.output_bytes(rank));
    generate(plan, rank);
    made.plans.push_back(std::move(plan).finish());
  }
  return made;
}

Slice input(int rank, std::uint64_t bytes) {
  return Slice::contiguous(Space::input, rank, 0, bytes);
}
Slice output(int rank, std::uint64_t bytes) {
  return Slice::contiguous(Space::output, rank, 0, bytes);
}

/// target = what `source` of each rank gives, in rank order, one op after another.
template <class Source>
void reduce_all(Builder& plan, const Slice& target, int ranks, Source source) {
  OpId last = kNoOp;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [slice, ready] = source(rank);
    last = rank == 0 ? plan.copy(target, slice, ready)
                     : plan.reduce(target, slice, Operand::left, {last, ready});
  }
}

}  // namespace

Case star_reduce(const Problem& problem, std::vector<int> node_of_rank) {
  return make("star reduce", problem, std::move(node_of_rank), [&](Builder& plan, int self) {
    const std::uint64_t bytes = problem.block_bytes;
    if (self != problem.root) {
      plan.send(problem.root, input(self, bytes));
      return;
    }
    reduce_all(plan, output(self, bytes), problem.ranks, [&](int rank) {
      if (rank == self) return std::pair(input(self, bytes), kNoOp);
      const Slice in = plan.allocate_scratch(bytes);
      return std::pair(in, plan.recv(rank, in));
    });
  });
}

Case doubling_allreduce(const Problem& problem, std::vector<int> node_of_rank) {
  return make("doubling allreduce", problem, std::move(node_of_rank), [&](Builder& plan, int self) {
    const std::uint64_t bytes = problem.block_bytes;
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(problem.ranks)));
    const int folded = problem.ranks - power;
    const Slice sum = output(self, bytes);
    if (self < 2 * folded && self % 2 == 1) {
      plan.send(self - 1, input(self, bytes));
      plan.recv(self - 1, sum);
      return;
    }
    OpId last = plan.copy(sum, input(self, bytes));
    const auto combine = [&](int peer, After after) {
      const Slice in = plan.allocate_scratch(bytes);
      const OpId received = plan.recv(peer, in);
      std::vector<OpId> ready(after.ids().begin(), after.ids().end());
      ready.push_back(received);
      last = plan.reduce(sum, in, peer < self ? Operand::right : Operand::left, ready);
    };
    if (self < 2 * folded) combine(self + 1, last);
    const int index = self < 2 * folded ? self / 2 : self - folded;
    for (int distance = 1; distance < power; distance *= 2) {
      const int other = index ^ distance;
      const int peer = other < folded ? 2 * other : other + folded;
      const OpId sent = plan.send(peer, sum, last);
      combine(peer, {last, sent});
    }
    if (self < 2 * folded) plan.send(self + 1, sum, last);
  });
}

Case node_allreduce(const Problem& problem, std::vector<int> node_of_rank) {
  return make("node allreduce", problem, node_of_rank, [&](Builder& plan, int self) {
    const std::uint64_t bytes = problem.block_bytes;
    const int node = node_of_rank[static_cast<std::size_t>(self)];
    std::vector<int> leaders;
    std::vector<int> local;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      const int there = node_of_rank[static_cast<std::size_t>(rank)];
      if (there == static_cast<int>(leaders.size())) leaders.push_back(rank);
      if (there == node) local.push_back(rank);
    }
    const auto stage = [&](int rank) { return Slice::contiguous(Space::stage, rank, 0, bytes); };
    const int leader = local.front();
    plan.allocate_stage(bytes);
    if (self != leader) {
      plan.signal(leader, plan.copy(stage(self), input(self, bytes)));
      plan.signal(leader, plan.copy(output(self, bytes), output(leader, bytes), plan.wait(leader)));
      return;
    }
    OpId last = plan.copy(stage(self), input(self, bytes));
    for (std::size_t i = 1; i < local.size(); ++i) {
      last = plan.reduce(stage(self), stage(local[i]), Operand::left, {last, plan.wait(local[i])});
    }
    OpId result = kNoOp;
    if (node > 0) {
      const Slice in = plan.allocate_scratch(bytes);
      const OpId received = plan.recv(leaders[static_cast<std::size_t>(node) - 1], in);
      last = plan.reduce(stage(self), in, Operand::right, {last, received});
    }
    if (node + 1 < static_cast<int>(leaders.size())) {
      const int next = leaders[static_cast<std::size_t>(node) + 1];
      plan.send(next, stage(self), last);
      result = plan.recv(next, output(self, bytes));
    } else {
      result = plan.copy(output(self, bytes), stage(self), last);
    }
    if (node > 0)
      plan.send(leaders[static_cast<std::size_t>(node) - 1], output(self, bytes), result);
    for (std::size_t i = 1; i < local.size(); ++i) plan.signal(local[i], result);
    for (std::size_t i = 1; i < local.size(); ++i) plan.wait(local[i]);
  });
}

Case direct_reduce_scatter(const Problem& problem, std::vector<int> node_of_rank) {
  return make("direct reduce_scatter", problem, std::move(node_of_rank),
              [&](Builder& plan, int self) {
                const auto block = [&](int rank) {
                  const Block there = problem.block(rank);
                  return Slice::contiguous(Space::input, self, there.offset, there.bytes);
                };
                for (int rank = 0; rank < problem.ranks; ++rank) {
                  if (rank != self) plan.send(rank, block(rank));
                }
                const std::uint64_t bytes = block(self).bytes();
                reduce_all(plan, output(self, bytes), problem.ranks, [&](int rank) {
                  if (rank == self) return std::pair(block(self), kNoOp);
                  const Slice in = plan.allocate_scratch(bytes);
                  return std::pair(in, plan.recv(rank, in));
                });
              });
}

Case chain_scan(const Problem& problem, std::vector<int> node_of_rank) {
  return make("chain scan", problem, std::move(node_of_rank), [&](Builder& plan, int self) {
    const Slice sum = output(self, problem.block_bytes);
    OpId last = kNoOp;
    if (self == 0) {
      last = plan.copy(sum, input(self, problem.block_bytes));
    } else {
      last = plan.recv(self - 1, sum);
      last = plan.reduce(sum, input(self, problem.block_bytes), Operand::left, last);
    }
    if (self + 1 < problem.ranks) plan.send(self + 1, sum, last);
  });
}

Case random_reduction(std::mt19937& random, int max_ranks) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  struct Kind {
    Collective collective;
    Case (*make)(const Problem&, std::vector<int>);
  };
  static constexpr std::array kKinds = {
      Kind{Collective::reduce, star_reduce}, Kind{Collective::allreduce, doubling_allreduce},
      Kind{Collective::allreduce, node_allreduce},
      Kind{Collective::reduce_scatter, direct_reduce_scatter}, Kind{Collective::scan, chain_scan}};
  const Kind& kind = kKinds[static_cast<std::size_t>(pick(0, kKinds.size() - 1))];
  Problem problem;
  problem.collective = kind.collective;
  problem.ranks = pick(1, max_ranks);
  problem.block_bytes = problem.stride = static_cast<std::uint64_t>(pick(1, 4));
  problem.root = pick(0, problem.ranks - 1);
  problem.commutative = pick(0, 1) == 0;
  auto nodes = random_nodes(random, problem.ranks);
  if (kind.make == node_allreduce) nodes = even_nodes(problem.ranks, pick(1, 3));
  nodes.resize(static_cast<std::size_t>(problem.ranks));
  return kind.make(problem, std::move(nodes));
}

}  // namespace weft::plan::testing
