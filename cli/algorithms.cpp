#include "cli/algorithms.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "reduce/registry.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

template <class OfRoom>
std::vector<Algorithm> wrap_all(const std::vector<OfRoom>& algorithms) {
  std::vector<Algorithm> list;
  for (const auto& one : algorithms) list.push_back(comm::as_algorithm(one));
  return list;
}

std::vector<std::string_view> names_of(Collective collective) {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& table, const auto& belongs) {
    for (const auto& one : table) {
      if (belongs(one)) names.push_back(one.name);
    }
  };
  const auto all = [](const auto&) { return true; };
  const auto its_own = [&](const auto& one) { return one.collective == collective; };
  if (collective == Collective::alltoall) {
    add(alltoall::flat_algorithms(), all);
    add(alltoall::schemes(), all);
  } else if (is_reduction(collective)) {
    add(reduce::flat_algorithms(), its_own);
    add(reduce::schemes(), its_own);
  } else {
    add(gather::table_of(collective).flat, all);
    add(gather::table_of(collective).schemes, all);
  }
  return names;
}

}  // namespace

std::vector<Algorithm> algorithm_variants(Collective collective, int ranks) {
  // Segments that cut the small blocks which are checked.
  constexpr std::uint64_t kSegment = 32;
  if (collective == Collective::alltoall) return wrap_all(alltoall::variants(ranks));
  if (is_reduction(collective)) return wrap_all(reduce::variants(collective, ranks, kSegment));
  return wrap_all(gather::variants(collective, ranks, kSegment));
}

std::string algorithm_names(Collective collective) {
  return fmt::format("{}", fmt::join(names_of(collective), ", "));
}

std::string list_algorithms() {
  std::string text = "Algorithms of alltoall:\n";
  const auto add = [&](const auto& table) {
    for (const auto& one : table) text += fmt::format("  {:<15}{}\n", one.name, one.summary);
  };
  add(alltoall::flat_algorithms());
  add(alltoall::schemes());
  text +=
      "  sa, rd and leader take :between=ALGORITHM (the step between nodes, isend unless said)\n"
      "  and :direct=1 (read peers' buffers in place); leader takes :leaders=K; bruck, and\n"
      "  between=bruck, take :radix=R. Example: leader:leaders=2,between=bruck,radix=4\n"
      "Of the others:\n";
  for (const Collective collective : plan::all_collectives()) {
    if (collective == Collective::alltoall) continue;
    std::string line = fmt::format("  {:<15}", to_string(collective));
    constexpr std::size_t kWidth = 94;
    for (const std::string_view name : names_of(collective)) {
      if (line.size() - line.rfind('\n') + name.size() > kWidth)
        line += "\n" + std::string(17, ' ');
      line += fmt::format("{}{}", line.back() == ' ' ? "" : ", ", name);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace weft::cli
