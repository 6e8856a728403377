#include "cli/check/placements.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "hierarchy/groups.hpp"

namespace weft::cli {

namespace {

using hierarchy::Machine;

Machine dealt(int ranks, int nodes) {
  std::vector<int> node_of_rank(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) node_of_rank[rank] = rank % nodes;
  return Machine(std::move(node_of_rank));
}

/// Blocks of 1, 2, 3, ... ranks; the last has what is left.
Machine staircase(int ranks) {
  std::vector<int> sizes;
  for (int left = ranks; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min(left, static_cast<int>(sizes.size()) + 1));
  }
  return Machine::uneven(sizes);
}

/// The distributions of the standard library differ between systems; its engines do not.
int draw_below(int limit, std::mt19937_64& engine) {
  return static_cast<int>(engine() % static_cast<std::uint64_t>(limit));
}

/// Each rank in any of up to 4 domains of its node.
Machine with_random_domains(const Machine& machine, std::mt19937_64& engine) {
  const int most = 1 + draw_below(4, engine);
  std::vector<int> labels(static_cast<std::size_t>(machine.ranks()));
  for (int& label : labels) label = draw_below(most, engine);
  return machine.with_domains(labels);
}

/// Each rank on any of up to `ranks` nodes.
Machine random_machine(int ranks, std::mt19937_64& engine) {
  const auto below = [&engine](int limit) { return draw_below(limit, engine); };
  const int most_nodes = 1 + below(ranks);
  std::vector<int> node_of_rank(static_cast<std::size_t>(ranks));
  for (int& node : node_of_rank) node = below(most_nodes);
  std::vector<int> taken = node_of_rank;
  std::ranges::sort(taken);
  taken.erase(std::ranges::unique(taken).begin(), taken.end());
  for (int& node : node_of_rank) {
    node = static_cast<int>(std::ranges::lower_bound(taken, node) - taken.begin());
  }
  return Machine(std::move(node_of_rank));
}

}  // namespace

std::vector<Machine> placements(int ranks, int count, std::uint64_t seed) {
  std::vector<Machine> list;
  const auto add = [&](Machine machine) {
    if (static_cast<int>(list.size()) < count && std::ranges::find(list, machine) == list.end()) {
      list.push_back(std::move(machine));
    }
  };
  const int nodes = std::max(std::min(2, ranks), static_cast<int>(std::lround(std::sqrt(ranks))));
  add(Machine::uneven(hierarchy::even_blocks(ranks, nodes)));
  add(dealt(ranks, nodes));
  add(staircase(ranks));
  add(Machine::uniform(ranks, 1));
  add(Machine::uniform(1, ranks));
  std::mt19937_64 engine(seed * 1'000'003 + static_cast<std::uint64_t>(ranks));
  // Few ranks have few placements: the number of draws is limited.
  for (int draws = 0; static_cast<int>(list.size()) < count && draws < 100 + 10 * count; ++draws) {
    const Machine machine = random_machine(ranks, engine);
    add(ranks > 2 && draws % 2 == 0 ? with_random_domains(machine, engine) : machine);
  }
  return list;
}

}  // namespace weft::cli
