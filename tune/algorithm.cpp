#include "tune/algorithm.hpp"

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "reduce/registry.hpp"

namespace weft::tune {

using plan::Collective;

Algorithm parse_algorithm(Collective collective, std::string_view text) {
  if (is_alltoall(collective)) {
    return as_algorithm(alltoall::Algorithm::parse(text));
  }
  if (is_reduction(collective)) return as_algorithm(reduce::Algorithm::parse(collective, text));
  return as_algorithm(gather::Algorithm::parse(collective, text));
}

Names names_of(Collective collective) {
  Names names;
  const auto add = [](auto& list, const auto& table, const auto& belongs) {
    for (const auto& one : table) {
      if (belongs(one)) list.push_back(one.name);
    }
  };
  const auto all = [](const auto&) { return true; };
  const auto its_own = [&](const auto& one) { return one.collective == collective; };
  if (is_alltoall(collective)) {
    add(names.flat, alltoall::flat_algorithms(), all);
    add(names.schemes, alltoall::schemes(), all);
  } else if (is_reduction(collective)) {
    add(names.flat, reduce::flat_algorithms(), its_own);
    add(names.schemes, reduce::schemes(), its_own);
  } else {
    add(names.flat, gather::table_of(collective).flat, all);
    add(names.schemes, gather::table_of(collective).schemes, all);
  }
  return names;
}

bool may_run(const Algorithm& algorithm, const plan::Problem& problem, const Facts& facts) {
  if (is_reduction(problem.collective) && facts.deterministic && !problem.associative &&
      !algorithm.groups_alike_everywhere) {
    return false;
  }
  return !algorithm.refusal(problem, facts.machine).has_value();
}

}  // namespace weft::tune
