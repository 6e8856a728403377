// Facts that a choice of an algorithm may depend on, and whether an algorithm may run under them.
#pragma once

#include <cstdint>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::tune {

using registry::Algorithm;

/// The way to read a neighbour's buffer in place.
enum class Direct : std::uint8_t {
  none,
  calls,          ///< by system calls
  loads,          ///< as its own memory, for most buffers at least
  loads_of_long,  ///< the same for most buffers of kLongBuffer bytes and more; others by calls
};

/// Bytes of a buffer from which a heap that nobody asked for serves it.
inline constexpr std::uint64_t kLongBuffer = 32 << 10;

inline bool is_by_loads(Direct direct) noexcept {
  return direct == Direct::loads || direct == Direct::loads_of_long;
}

/// All ranks share them.
struct Facts {
  const hierarchy::Machine& machine;
  Direct direct = Direct::none;
  bool deterministic = false;  // reductions group their operands alike on every placement
  bool crowded = false;        // ranks of some host outnumber its cores
};

/// True if an algorithm may solve a problem under these facts.
inline bool may_run(const Algorithm& algorithm, const plan::Problem& problem, const Facts& facts) {
  if (is_reduction(problem.collective) && facts.deterministic && !problem.associative &&
      !algorithm.groups_alike_everywhere()) {
    return false;
  }
  return !algorithm.refusal(problem, facts.machine).has_value();
}

}  // namespace weft::tune
