// Random problems for properties.
#pragma once

#include <rapidcheck.h>

#include "plan/problem.hpp"
#include "tune/decision_table.hpp"

namespace weft::tune {

/// A problem of any collective but alltoallv: one that every rank knows whole.
inline plan::Problem any_problem(int ranks) {
  std::vector<plan::Collective> collectives;
  for (const auto one : plan::all_collectives()) {
    if (one != plan::Collective::alltoallv) collectives.push_back(one);
  }
  plan::Problem like;
  like.collective = *rc::gen::elementOf(collectives);
  like.ranks = ranks;
  if (is_rooted(like.collective)) like.root = *rc::gen::inRange(0, ranks);
  if (is_reduction(like.collective)) {
    like.element_bytes = *rc::gen::element<std::uint64_t>(1, 4, 8);
    like.commutative = *rc::gen::arbitrary<bool>();
    like.associative = *rc::gen::arbitrary<bool>();
  }
  if (like.collective == plan::Collective::barrier) return like;
  return resized(like, std::uint64_t{1} << *rc::gen::inRange(0, 18));
}

}  // namespace weft::tune
