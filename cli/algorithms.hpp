// The algorithms of all rooms, as the command line names them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

/// An algorithm of whatever room.
struct Algorithm {
  std::string name;  // with its parameters
  /// The plan of a rank. UsageError where problem, machine and algorithm do not go together.
  std::function<plan::Plan(const plan::Problem&, const hierarchy::Machine&, int rank)> plan;
  /// Why it is not for such a problem; nothing when it is.
  std::function<std::optional<std::string>(const plan::Problem&, const hierarchy::Machine&)>
      refusal;
};

/// UsageError names what is unknown and lists what there is.
Algorithm parse_algorithm(plan::Collective collective, std::string_view text);
/// Every algorithm with every parameter that makes a difference: what is to be proved.
std::vector<Algorithm> algorithm_variants(plan::Collective collective, int ranks);

/// For help texts: the algorithms of alltoall with their summaries, a line each, and the names of
/// the others'.
std::string list_algorithms();
/// "isend, bruck, ...".
std::string algorithm_names(plan::Collective collective);

}  // namespace weft::cli
