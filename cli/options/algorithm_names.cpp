#include "cli/options/algorithm_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "registry/all_algorithms.hpp"
#include "registry/variants.hpp"

namespace weft::cli {

using plan::Collective;

std::vector<std::string_view> all_algorithm_names(Collective collective) {
  std::vector<std::string_view> names;
  for (const auto* one : registry::flat_algorithms(collective)) names.push_back(one->name);
  for (const auto* one : registry::schemes(collective)) names.push_back(one->name);
  return names;
}

std::vector<Algorithm> algorithm_variants(Collective collective, int ranks) {
  // Small enough to divide the small blocks that are checked.
  constexpr std::uint64_t kSegment = 32;
  auto all = registry::variants(collective, ranks, kSegment);
  if (!is_alltoall(collective)) return all;
  // Thresholds between the sizes that are checked.
  for (const char* text : {"sa:aggregate=8", "sa:aggregate=8,direct=1", "rd:aggregate=8,cores=1",
                           "leader:aggregate=8,between=pairwise-ring"}) {
    all.push_back(Algorithm::parse(collective, text));
  }
  return all;
}

std::string algorithm_names(Collective collective) {
  return fmt::format("{}", fmt::join(all_algorithm_names(collective), ", "));
}

std::string list_algorithms() {
  std::string text = "Algorithms of alltoall and alltoallv:\n";
  const auto add = [&](const auto& table) {
    for (const auto* one : table) text += fmt::format("  {:<15}{}\n", one->name, one->summary);
  };
  add(registry::flat_algorithms(Collective::alltoall));
  add(registry::schemes(Collective::alltoall));
  text +=
      "  sa, rd, leader and two-step take :between=ALGORITHM (the step between nodes, isend "
      "unless\n"
      "  said), :direct=1 (read peers' buffers in place) and :aggregate=BYTES (larger blocks go\n"
      "  straight to their ranks); leader takes :leaders=K, or all, or sockets (one each), sa and\n"
      "  rd :cores=K (the ranks of a node that talk to the network); bruck :radix=R, isend\n"
      "  :window=W and fat-tree :arity=A, between nodes too. Of alltoallv bruck takes :slot=BYTES\n"
      "  (its blocks travel in slots, larger ones straight) and is no step between nodes. "
      "Example:\n"
      "  leader:leaders=2,between=bruck,radix=4\n"
      "Algorithms of the other collectives:\n";
  for (const Collective collective : plan::all_collectives()) {
    if (is_alltoall(collective)) continue;
    std::string line = fmt::format("  {:<15}", to_string(collective));
    constexpr std::size_t kWidth = 94;
    for (const std::string_view name : all_algorithm_names(collective)) {
      if (line.size() - line.rfind('\n') + name.size() > kWidth)
        line += "\n" + std::string(17, ' ');
      line += fmt::format("{}{}", line.back() == ' ' ? "" : ", ", name);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace weft::cli
