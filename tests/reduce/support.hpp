// Helpers of the tests of the reductions.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/registry/support.hpp"

namespace weft::reduce {

using hierarchy::any_machine;
using plan::Collective;
using registry::Algorithm;
using registry::error_of;
using registry::flaws_of;
using registry::plans_of;
using registry::variants;

constexpr Collective kReductions[] = {Collective::reduce, Collective::allreduce,
                                      Collective::reduce_scatter, Collective::scan,
                                      Collective::exscan};

/// A collective of `bytes` in all, or in each block of a reduce_scatter.
inline plan::Problem problem_of(Collective collective, int ranks, std::uint64_t bytes,
                                std::uint64_t element_bytes = 1) {
  plan::Problem problem{collective, ranks, bytes, bytes};
  problem.element_bytes = element_bytes;
  return problem;
}

/// Any counts, zeros too, any root and operation; for use inside a property.
inline plan::Problem any_problem(Collective collective, int ranks) {
  const auto element = *rc::gen::element<std::uint64_t>(1, 2, 4, 8, 12, 16, 32).as("element");
  const auto elements =
      *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 7, 8, 9, 31, 64, 100).as("elements");
  plan::Problem problem = problem_of(collective, ranks, elements * element, element);
  if (collective == Collective::reduce_scatter) {
    problem.block_bytes = problem.stride = elements % 10 * element;
  }
  problem.commutative = *rc::gen::arbitrary<bool>().as("commutative");
  problem.associative = *rc::gen::arbitrary<bool>().as("associative");
  if (is_rooted(collective)) problem.root = *rc::gen::inRange(0, ranks).as("root");
  if (collective != Collective::reduce_scatter) return problem;
  problem.stride += *rc::gen::element<std::uint64_t>(0, 0, 1, 8).as("gap") * element;
  if (!*rc::gen::arbitrary<bool>().as("irregular")) return problem;
  const auto counts = *rc::gen::container<std::vector<std::uint64_t>>(
                           static_cast<std::size_t>(ranks), rc::gen::inRange<std::uint64_t>(0, 9))
                           .as("counts");
  const auto gap = *rc::gen::element<std::uint64_t>(0, 0, 2).as("gap") * element;
  const bool backwards = *rc::gen::arbitrary<bool>().as("backwards");
  problem.layout.resize(counts.size());
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t rank = backwards ? counts.size() - 1 - i : i;
    problem.layout[rank] = {at, counts[rank] * element};
    at += counts[rank] * element + gap;
  }
  return problem;
}

/// Segments of a few elements, so that short vectors have several.
constexpr std::uint64_t kSegment = 80;

}  // namespace weft::reduce
