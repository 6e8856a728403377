#include "tune/deterministic.hpp"

#include <array>
#include <string_view>

#include "base/error.hpp"
#include "tune/candidates.hpp"

namespace weft::tune {

using plan::Collective;

namespace {

constexpr std::uint64_t kShortVector = 512;  // startups count up to here, bytes beyond

/// Best first; the last one may reduce anything.
std::array<std::string_view, 2> names_for(const plan::Problem& problem) {
  const bool is_short = block_bytes(problem) <= kShortVector;
  switch (problem.collective) {
    case Collective::reduce:
      return {is_short ? "binomial" : "halving-doubling", "ring"};
    case Collective::allreduce:
      return {is_short ? "recursive-doubling" : "halving-doubling", "reduce-broadcast"};
    case Collective::reduce_scatter:
      return {problem.commutative ? "recursive-halving" : "recursive-doubling", "pairwise"};
    default:
      return {"doubling", "chain"};
  }
}

}  // namespace

std::optional<Algorithm> deterministic_algorithm(const plan::Problem& problem, const Facts& facts) {
  if (!facts.deterministic || !is_reduction(problem.collective) || problem.associative) {
    return std::nullopt;
  }
  for (const std::string_view name : names_for(problem)) {
    auto algorithm = parse_algorithm(problem.collective, name);
    if (may_run(algorithm, problem, facts)) return algorithm;
  }
  throw_usage("{}: no algorithm groups alike on every placement", to_string(problem.collective));
}

}  // namespace weft::tune
