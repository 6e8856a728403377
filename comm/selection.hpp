// Which algorithm a call takes.
#pragma once

#include "comm/algorithms.hpp"
#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::comm {

/// What the choice may depend on: facts that all ranks share.
struct Facts {
  const hierarchy::Machine& machine;
  bool direct_views = false;   // local peers' buffers can be read where they lie
  bool deterministic = false;  // reductions group their operands alike on every placement
};

/// Whether an algorithm may solve a problem here.
bool may_run(const Algorithm& algorithm, const plan::Problem& problem, const Facts& facts);

/// A first, fixed choice by size; the first of a list of candidates that may run. There always is
/// one.
Algorithm choose(const plan::Problem& problem, const Facts& facts);

}  // namespace weft::comm
