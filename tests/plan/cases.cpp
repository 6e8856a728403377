#include "tests/plan/cases.hpp"

#include <algorithm>

#include "plan/builder.hpp"

namespace weft::plan::testing {

namespace {

std::uint64_t bytes_of(const Problem& problem) {
  return problem.output_bytes(0);
}

Builder builder(const Problem& problem, int rank) {
  return {rank, problem.ranks, bytes_of(problem), bytes_of(problem)};
}

template <class Generate>
Case make(std::string name, const Problem& problem, std::vector<int> node_of_rank,
          Generate generate) {
  Case made{std::move(name), problem, std::move(node_of_rank), {}};
  for (int rank = 0; rank < problem.ranks; ++rank) {
    Builder plan = builder(problem, rank);
    generate(plan, made.node_of_rank);
    made.plans.push_back(std::move(plan).finish());
  }
  return made;
}

int node(const std::vector<int>& node_of_rank, int rank) {
  return node_of_rank[static_cast<std::size_t>(rank)];
}

std::vector<int> ranks_of(const std::vector<int>& node_of_rank, int wanted) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    if (node_of_rank[rank] == wanted) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::vector<int> local_peers(const std::vector<int>& node_of_rank, int rank) {
  auto ranks = ranks_of(node_of_rank, node(node_of_rank, rank));
  std::erase(ranks, rank);
  return ranks;
}

/// Sends and recvs with the ranks of all other nodes.
void exchange_remote(Builder& plan, const Problem& problem, const std::vector<int>& nodes) {
  const int self = plan.rank();
  for (int peer = 0; peer < problem.ranks; ++peer) {
    if (node(nodes, peer) == node(nodes, self)) continue;
    plan.recv(peer, block(problem, Space::output, self, peer));
    plan.send(peer, block(problem, Space::input, self, peer));
  }
}

}  // namespace

std::vector<int> even_nodes(int nodes, int ranks_per_node) {
  std::vector<int> result;
  for (int rank = 0; rank < nodes * ranks_per_node; ++rank) result.push_back(rank / ranks_per_node);
  return result;
}

std::vector<int> random_nodes(std::mt19937& random, int ranks) {
  const int nodes = std::uniform_int_distribution(1, ranks)(random);
  std::vector<int> result;
  for (int rank = 0; rank < ranks; ++rank) {
    result.push_back(std::uniform_int_distribution(0, nodes - 1)(random));
  }
  return result;
}

Slice block(const Problem& problem, Space space, int owner, int index) {
  return Slice::contiguous(space, owner, static_cast<std::uint64_t>(index) * problem.stride,
                           problem.block_bytes);
}

Case direct(const Problem& problem, std::vector<int> node_of_rank) {
  return make("direct", problem, std::move(node_of_rank), [&](Builder& plan, const auto&) {
    const int self = plan.rank();
    for (int step = 1; step < problem.ranks; ++step) {
      const int peer = (self + step) % problem.ranks;
      plan.recv(peer, block(problem, Space::output, self, peer));
      plan.send(peer, block(problem, Space::input, self, peer));
    }
    plan.copy(block(problem, Space::output, self, self), block(problem, Space::input, self, self));
  });
}

Case ring(const Problem& problem, std::vector<int> node_of_rank) {
  return make("ring", problem, std::move(node_of_rank), [&](Builder& plan, const auto&) {
    const int self = plan.rank();
    std::vector<OpId> before;
    for (int step = 1; step < problem.ranks; ++step) {
      const int to = (self + step) % problem.ranks;
      const int from = (self + problem.ranks - step) % problem.ranks;
      const OpId sent = plan.send(to, block(problem, Space::input, self, to), before);
      const OpId received = plan.recv(from, block(problem, Space::output, self, from), before);
      before = {sent, received};
    }
    plan.copy(block(problem, Space::output, self, self), block(problem, Space::input, self, self));
  });
}

Case bruck(const Problem& problem, std::vector<int> node_of_rank) {
  return make("bruck", problem, std::move(node_of_rank), [&](Builder& plan, const auto&) {
    const int self = plan.rank();
    const int ranks = problem.ranks;
    const std::uint64_t size = problem.block_bytes;
    const Slice held = plan.allocate_scratch(static_cast<std::uint64_t>(ranks) * size);
    const auto place = [&](int i) {
      return Slice::contiguous(Space::scratch, self,
                               held.offset + static_cast<std::uint64_t>(i) * size, size);
    };
    std::vector<Slice> sources;
    for (int i = 0; i < ranks; ++i) {
      sources.push_back(block(problem, Space::input, self, (self + i) % ranks));
    }
    std::vector<OpId> last;
    plan.gather(held, sources, {}, last);
    for (int distance = 1; distance < ranks; distance *= 2) {
      std::vector<Slice> moving;
      for (int i = 0; i < ranks; ++i) {
        if (i & distance) moving.push_back(place(i));
      }
      const Slice out = plan.allocate_scratch(moving.size() * size);
      const Slice in = plan.allocate_scratch(moving.size() * size);
      std::vector<OpId> packed;
      plan.gather(out, moving, last, packed);
      plan.send((self + distance) % ranks, out, packed);
      std::vector<OpId> ready = packed;
      ready.push_back(plan.recv((self + ranks - distance) % ranks, in));
      last.clear();
      plan.scatter(moving, in, ready, last);
      last.insert(last.end(), packed.begin(), packed.end());
    }
    std::vector<Slice> targets;
    for (int i = 0; i < ranks; ++i) {
      targets.push_back(block(problem, Space::output, self, (self + ranks - i) % ranks));
    }
    std::vector<OpId> done;
    plan.scatter(targets, held, last, done);
  });
}

Case staged(const Problem& problem, std::vector<int> node_of_rank) {
  return make("staged", problem, std::move(node_of_rank), [&](Builder& plan, const auto& nodes) {
    const int self = plan.rank();
    exchange_remote(plan, problem, nodes);
    plan.copy(block(problem, Space::output, self, self), block(problem, Space::input, self, self));
    const std::uint64_t half = (problem.block_bytes + 1) / 2;
    plan.allocate_stage(static_cast<std::uint64_t>(problem.ranks) * half);
    const auto peers = local_peers(nodes, self);
    std::vector<OpId> free;  // what must be done before the stage may be written
    for (int part = 0; part < 2; ++part) {
      const std::uint64_t begin = part == 0 ? 0 : half;
      const std::uint64_t size = part == 0 ? half : problem.block_bytes - half;
      const auto piece = [&](Space space, int index) {
        return Slice::contiguous(space, self,
                                 static_cast<std::uint64_t>(index) * problem.stride + begin, size);
      };
      const auto slot = [&](int owner, int index) {
        return Slice::contiguous(Space::stage, owner, static_cast<std::uint64_t>(index) * half,
                                 size);
      };
      for (const int peer : peers) {
        plan.signal(peer, plan.copy(slot(self, peer), piece(Space::input, peer), free));
      }
      free.clear();
      for (const int peer : peers) {
        const OpId there = plan.wait(peer);
        const OpId read = plan.copy(piece(Space::output, peer), slot(peer, self), there);
        if (part == 0) plan.signal(peer, {there, read});
      }
      for (const int peer : peers) {
        if (part == 0) free.push_back(plan.wait(peer));
      }
    }
  });
}

Case visiting(const Problem& problem, std::vector<int> node_of_rank) {
  return make("visiting", problem, std::move(node_of_rank), [&](Builder& plan, const auto& nodes) {
    const int self = plan.rank();
    exchange_remote(plan, problem, nodes);
    plan.copy(block(problem, Space::output, self, self), block(problem, Space::input, self, self));
    const auto peers = local_peers(nodes, self);
    for (const int peer : peers) plan.signal(peer);
    for (const int peer : peers) {
      const OpId there = plan.wait(peer);
      plan.signal(peer, {there, plan.copy(block(problem, Space::output, self, peer),
                                          block(problem, Space::input, peer, self), there)});
    }
    for (const int peer : peers) plan.wait(peer);
  });
}

Case aggregated(const Problem& problem, std::vector<int> node_of_rank) {
  return make(
      "aggregated", problem, std::move(node_of_rank), [&](Builder& plan, const auto& nodes) {
        const int self = plan.rank();
        const int node_count = *std::ranges::max_element(nodes) + 1;
        const auto local = ranks_of(nodes, node(nodes, self));
        const auto place = static_cast<std::size_t>(std::ranges::find(local, self) - local.begin());
        const std::uint64_t size = problem.block_bytes;
        const std::uint64_t aggregate = local.size() * size;  // what goes to one rank of a node
        plan.allocate_stage(static_cast<std::uint64_t>(node_count) * aggregate);
        const auto slots = [&](int owner, int of_node, std::size_t first, std::uint64_t bytes) {
          const auto begin = static_cast<std::uint64_t>(of_node) * aggregate + first * size;
          return Slice::contiguous(Space::stage, owner, begin, bytes);
        };
        std::vector<OpId> ready;
        for (std::size_t i = 0; i < local.size(); ++i) {
          std::vector<Slice> sources;
          std::vector<Slice> targets;
          for (int n = 0; n < node_count; ++n) {
            sources.push_back(block(problem, Space::input, self, ranks_of(nodes, n)[i]));
            targets.push_back(slots(local[i], n, place, size));
          }
          std::vector<OpId> written;
          plan.gather(coalesce(targets).front(), sources, {}, written);
          if (local[i] != self) plan.signal(local[i], written);
          if (local[i] == self) ready.insert(ready.end(), written.begin(), written.end());
        }
        for (const int peer : local) {
          if (peer != self) ready.push_back(plan.wait(peer));
        }
        for (int n = 0; n < node_count; ++n) {
          const auto there = ranks_of(nodes, n);
          std::vector<Slice> targets;
          for (const int origin : there)
            targets.push_back(block(problem, Space::output, self, origin));
          std::vector<OpId> done;
          if (n == node(nodes, self)) {
            plan.scatter(targets, slots(self, n, 0, aggregate), ready, done);
            continue;
          }
          plan.send(there[place], slots(self, n, 0, aggregate), ready);
          const Slice in = plan.allocate_scratch(aggregate);
          plan.scatter(targets, in, plan.recv(there[place], in), done);
        }
      });
}

Case random_case(std::mt19937& random, int max_ranks) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  const int kind = pick(0, 5);
  const int ranks = pick(1, max_ranks);
  auto nodes = random_nodes(random, ranks);
  if (kind == 5) {
    const int per_node = pick(1, std::max(1, max_ranks / 2));
    nodes = even_nodes(pick(1, max_ranks / per_node), per_node);
    std::ranges::shuffle(nodes, random);
  }
  Problem problem =
      Problem::alltoall(static_cast<int>(nodes.size()), static_cast<std::uint64_t>(pick(1, 4)));
  problem.stride += static_cast<std::uint64_t>(pick(0, 2));
  constexpr std::array kCases = {direct, ring, bruck, staged, visiting, aggregated};
  return kCases[static_cast<std::size_t>(kind)](problem, std::move(nodes));
}

}  // namespace weft::plan::testing
