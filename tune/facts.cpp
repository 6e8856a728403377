#include "tune/facts.hpp"

namespace weft::tune {

bool may_run(const Algorithm& algorithm, const plan::Problem& problem, const Facts& facts) {
  if (is_reduction(problem.collective) && facts.deterministic && !problem.associative &&
      !algorithm.groups_alike_everywhere()) {
    return false;
  }
  return !algorithm.refusal(problem, facts.machine).has_value();
}

}  // namespace weft::tune
