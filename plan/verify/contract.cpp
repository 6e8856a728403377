#include "plan/verify/contract.hpp"

#include <algorithm>
#include <numeric>

namespace weft::plan {

namespace {

using Expectations = std::vector<Expectation>;

/// Ranks 0 to count - 1.
std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// The block of every origin, which begins its input.
Expectations blocks_of_all(const Problem& problem) {
  Expectations expected;
  expected.reserve(static_cast<std::size_t>(problem.ranks));
  for (int origin = 0; origin < problem.ranks; ++origin) {
    const Block block = problem.block(origin);
    expected.push_back({block.offset, block.bytes, 0, {origin}});
  }
  std::ranges::sort(expected, {}, &Expectation::offset);
  return expected;
}

/// The block that each origin sends, at its place in the output.
Expectations exchanged(const Problem& problem, int rank) {
  Expectations expected;
  expected.reserve(static_cast<std::size_t>(problem.ranks));
  for (int origin = 0; origin < problem.ranks; ++origin) {
    const Block block = problem.received(rank, origin);
    expected.push_back({block.offset, block.bytes, problem.sent(origin, rank).offset, {origin}});
  }
  std::ranges::sort(expected, {}, &Expectation::offset);
  return expected;
}

Expectations expectations(const Problem& problem, int rank) {
  if (problem.collective == Collective::barrier) return {};
  if (problem.collective == Collective::alltoallv) return exchanged(problem, rank);
  const Block own = problem.block(rank);
  const std::uint64_t lone = problem.block_bytes;
  switch (problem.collective) {
    case Collective::alltoall:
      return exchanged(problem, rank);
    case Collective::broadcast:
      if (rank == problem.root) return {};
      return {{0, lone, 0, {problem.root}}};
    case Collective::scatter:
      return {{0, own.bytes, own.offset, {problem.root}}};
    case Collective::gather:
      if (rank != problem.root) return {};
      [[fallthrough]];
    case Collective::allgather:
      return blocks_of_all(problem);
    case Collective::reduce:
      if (rank != problem.root) return {};
      [[fallthrough]];
    case Collective::allreduce:
      return {{0, lone, 0, first_ranks(problem.ranks)}};
    case Collective::reduce_scatter:
      return {{0, own.bytes, own.offset, first_ranks(problem.ranks)}};
    case Collective::scan:
      return {{0, lone, 0, first_ranks(rank + 1)}};
    case Collective::exscan:
      if (rank == 0) return {};
      return {{0, lone, 0, first_ranks(rank)}};
    case Collective::barrier:
    case Collective::alltoallv:
      break;
  }
  return {};
}

Expectations without_empty(Expectations expected) {
  std::erase_if(expected, [](const Expectation& one) { return one.bytes == 0; });
  return expected;
}

}  // namespace

std::vector<Expectation> contract(const Problem& problem, int rank) {
  return without_empty(expectations(problem, rank));
}

/// The k-th edge in from a rank brings what that rank's k-th edge to this one has.
std::vector<Expectation> contract(std::span<const Edges> edges, int rank) {
  Expectations expected;
  std::vector<std::size_t> next(edges.size());  // by origin: behind its edges that were matched
  for (const Edge& in : edges[static_cast<std::size_t>(rank)].in) {
    const auto origin = static_cast<std::size_t>(in.rank);
    const std::vector<Edge>& out = edges[origin].out;
    while (out[next[origin]].rank != rank) ++next[origin];
    const Edge& match = out[next[origin]++];
    expected.push_back({in.block.offset, in.block.bytes, match.block.offset, {in.rank}});
  }
  std::ranges::sort(expected, {}, &Expectation::offset);
  return without_empty(std::move(expected));
}

}  // namespace weft::plan
