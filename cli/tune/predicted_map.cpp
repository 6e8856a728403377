#include "cli/tune/predicted_map.hpp"

#include <algorithm>

#include "cli/terminal/progress.hpp"
#include "tune/experiments/searches.hpp"
#include "tune/experiments/simulated.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostRows = 6;

/// The largest first.
std::vector<hierarchy::Machine> smaller(const hierarchy::Machine& machine) {
  std::vector<hierarchy::Machine> all;
  int nodes = machine.nodes(), ranks = machine.widest();
  if (machine.without_domains() != hierarchy::Machine::uniform(nodes, ranks)) return all;
  int& halved = nodes > 1 ? nodes : ranks;
  for (halved /= 2; halved >= 2 && all.size() < kMostRows; halved /= 2) {
    all.push_back(hierarchy::Machine::uniform(nodes, ranks));
  }
  return all;
}

}  // namespace

std::vector<MapRow> predicted_rows(
    const tune::Facts& facts, const sim::Hardware& hardware, std::span<const std::uint64_t> sizes,
    std::uint64_t least_segment, const std::function<plan::Problem(std::uint64_t bytes)>& problem) {
  const auto machines = smaller(facts.machine);
  Progress bar("smaller machines", machines.size() * sizes.size());
  std::uint64_t done = 0;
  std::vector<MapRow> rows;
  for (const hierarchy::Machine& machine : machines) {
    const tune::Facts there{machine, facts.direct, facts.deterministic, facts.crowded};
    MapRow row{to_string(machine), true, {}};
    for (const std::uint64_t bytes : sizes) {
      bar.update(done++);
      plan::Problem like = problem(bytes);
      like.ranks = machine.ranks();
      like.root = std::min(like.root, like.ranks - 1);
      tune::Laboratory laboratory(tune::simulated(like, there, hardware));
      tune::Point point = tune::point_of(like, there, least_segment);
      point.bytes = bytes;
      const tune::Found found = tune::scanning(point, laboratory);
      row.winners.emplace_back(
          bytes, tune::algorithm_of({like.collective, bytes, found.method, found.segment}).name());
    }
    rows.push_back(std::move(row));
  }
  std::ranges::reverse(rows);
  return rows;
}

}  // namespace weft::cli
