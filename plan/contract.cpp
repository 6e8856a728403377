#include "plan/contract.hpp"

namespace weft::plan {

namespace {

std::vector<Expectation> alltoall(const Problem& problem, int rank) {
  std::vector<Expectation> expected;
  if (problem.block_bytes == 0) return expected;
  expected.reserve(static_cast<std::size_t>(problem.ranks));
  const auto place = static_cast<std::uint64_t>(rank) * problem.stride;
  for (int origin = 0; origin < problem.ranks; ++origin) {
    expected.push_back({static_cast<std::uint64_t>(origin) * problem.stride,
                        problem.block_bytes,
                        place,
                        {origin}});
  }
  return expected;
}

}  // namespace

std::vector<Expectation> contract(const Problem& problem, int rank) {
  switch (problem.collective) {
    case Collective::alltoall:
      return alltoall(problem, rank);
  }
  return {};
}

}  // namespace weft::plan
