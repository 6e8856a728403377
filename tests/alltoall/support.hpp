// Helpers of the tests of the alltoall algorithms.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/registry/support.hpp"

namespace weft::alltoall {

using hierarchy::any_machine;
using plan::Collective;
using registry::Algorithm;
using registry::error_of;
using registry::flaws_of;
using registry::plans_of;
using registry::variants;

inline plan::Problem any_problem(int ranks) {
  plan::Problem problem = plan::Problem::alltoall(
      ranks, *rc::gen::element<std::uint64_t>(0, 1, 7, 8, 64, 100).as("block_bytes"));
  problem.stride += *rc::gen::element<std::uint64_t>(0, 0, 1, 64).as("gap");
  return problem;
}

/// An algorithm for alltoall and alltoallv.
inline Algorithm parse(std::string_view text) {
  return Algorithm::parse(plan::Collective::alltoall, text);
}

}  // namespace weft::alltoall
