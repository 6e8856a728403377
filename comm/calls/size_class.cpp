#include "comm/calls/size_class.hpp"

#include <algorithm>
#include <bit>

#include "tune/decision_table.hpp"

namespace weft::comm {

using plan::Problem;

Bucket bucket_of(const Problem& problem) {
  return {problem.collective,
          problem.root,
          problem.element_bytes,
          problem.commutative,
          problem.associative,
          problem.in_place,
          std::bit_ceil(problem.block_bytes)};
}

std::size_t part_of(const Problem& problem) {
  const std::uint64_t most = std::bit_ceil(problem.block_bytes);
  if (problem.block_bytes == most) return 2;
  return problem.block_bytes <= tune::grid_end(most / 2) ? 0 : 1;
}

bool serves_smaller(const registry::Algorithm& algorithm) {
  return !algorithm.reads(algorithm::Parameter::latency);
}

Problem largest_of_bucket(const Problem& problem) {
  if (problem.block_bytes == 0) return problem;
  Problem largest = problem;
  const std::uint64_t element = std::max<std::uint64_t>(problem.element_bytes, 1);
  largest.block_bytes = std::bit_ceil(problem.block_bytes) / element * element;
  largest.stride = largest.block_bytes;
  return largest;
}

}  // namespace weft::comm
