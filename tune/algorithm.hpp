// The algorithms of all rooms under one type.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::tune {

/// An algorithm of whatever room. A value.
struct Algorithm {
  std::string name;  // with its parameters
  /// The plan of a rank. UsageError where problem, machine and algorithm do not go together.
  std::function<plan::Plan(const plan::Problem&, const hierarchy::Machine&, int rank)> plan;
  /// Why it is not for such a problem, from facts that all ranks share; nothing when it is.
  std::function<std::optional<std::string>(const plan::Problem&, const hierarchy::Machine&)>
      refusal;
  /// Whether reductions group their operands alike wherever the ranks are.
  bool groups_alike_everywhere = true;
};

/// UsageError names what is unknown and lists what there is.
Algorithm parse_algorithm(plan::Collective collective, std::string_view text);

/// The same for an algorithm at hand.
template <class OfRoom>
Algorithm as_algorithm(const OfRoom& algorithm) {
  using hierarchy::Machine;
  using plan::Problem;
  Algorithm one;
  one.name = algorithm.name();
  one.plan = [algorithm](const Problem& problem, const Machine& machine, int rank) {
    return algorithm.plan(problem, machine, rank);
  };
  one.refusal = [algorithm](const Problem& problem,
                            const Machine& machine) -> std::optional<std::string> {
    if constexpr (requires { algorithm.refusal(problem, machine); }) {
      return algorithm.refusal(problem, machine);
    } else if constexpr (requires { algorithm.refusal(problem.collective); }) {
      return algorithm.refusal(problem.collective);
    }
    return std::nullopt;
  };
  if constexpr (requires { algorithm.groups_alike_everywhere(); }) {
    one.groups_alike_everywhere = algorithm.groups_alike_everywhere();
  }
  return one;
}

/// The names in the registries, flat algorithms first, without parameters.
struct Names {
  std::vector<std::string_view> flat;
  std::vector<std::string_view> schemes;
};
Names names_of(plan::Collective collective);

/// How a rank can read a neighbour's buffer where it lies.
enum class Direct : std::uint8_t {
  none,
  calls,  ///< by system calls
  loads,  ///< as its own, most buffers at least
};

/// What a choice may depend on: facts that all ranks share.
struct Facts {
  const hierarchy::Machine& machine;
  Direct direct = Direct::none;
  bool deterministic = false;  // reductions group their operands alike on every placement
  bool crowded = false;        // ranks of some host outnumber its cores
};

/// Whether an algorithm may solve a problem there.
bool may_run(const Algorithm& algorithm, const plan::Problem& problem, const Facts& facts);

}  // namespace weft::tune
