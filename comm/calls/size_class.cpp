#include "comm/calls/size_class.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "tune/decision_table.hpp"

namespace weft::comm {

using plan::Problem;

BlockSizes block_sizes(const Problem& problem) {
  if (problem.layout.empty()) return {problem.block_bytes, problem.block_bytes};
  BlockSizes sizes;
  std::uint64_t all = 0;
  for (const plan::Block& block : problem.layout) {
    sizes.most = std::max(sizes.most, block.bytes);
    all += block.bytes;
  }
  sizes.mean = all / problem.layout.size();
  return sizes;
}

Bucket bucket_of(const Problem& problem, const BlockSizes& sizes) {
  const bool differ = !problem.layout.empty();
  return {problem.collective,
          problem.root,
          problem.element_bytes,
          problem.commutative,
          problem.associative,
          problem.in_place,
          problem.leaving,
          std::bit_ceil(sizes.most),
          differ ? tune::grid_bytes(std::max<std::uint64_t>(1, sizes.mean)) : 0};
}

std::size_t BucketHash::operator()(const Bucket& bucket) const noexcept {
  plan::Problem problem;
  problem.collective = bucket.collective;
  problem.root = bucket.root;
  problem.element_bytes = bucket.element_bytes;
  problem.block_bytes = bucket.most_bytes;
  problem.stride = bucket.usual_bytes;
  return ProblemHash()(problem);
}

std::size_t part_of(const Problem& problem, bool has_table) {
  if (!problem.layout.empty()) return 0;
  const std::uint64_t most = std::bit_ceil(problem.block_bytes);
  if (problem.block_bytes == most) return kParts - 1;
  if (!has_table) return problem.block_bytes <= tune::grid_end(most / 2) ? 0 : 1;
  constexpr double kQuarters[] = {1.189207, 1.414213, 1.681792};  // powers of 2^(1/4)
  const double ratio = 2 * static_cast<double>(problem.block_bytes) / static_cast<double>(most);
  return static_cast<std::size_t>(std::ranges::lower_bound(kQuarters, ratio) -
                                  std::begin(kQuarters));
}

std::optional<plan::Extent> SizeClass::extent_of(const Problem& problem) const {
  const bool is_contiguous = problem.layout.empty() && problem.stride == problem.block_bytes;
  if (shape == nullptr || !is_contiguous) return std::nullopt;
  const int units = shape->finest_units() / static_cast<int>(times);
  return plan::extent_of(problem.block_bytes, problem.grain(), units);
}

bool SizeClass::has_list(const Problem& problem) const {
  if (lists == nullptr || problem.layout.empty()) return false;
  // As it is in calls: a list says all.
  const bool has_no_other = problem.block_bytes == 0 && problem.stride == 0;
  return has_no_other && plan::is_side_by_side(problem.layout);
}

bool serves_smaller(const registry::Algorithm& algorithm) {
  return !algorithm.reads(algorithm::Parameter::latency);
}

Problem largest_of_bucket(const Problem& problem) {
  const std::uint64_t most = block_sizes(problem).most;
  if (most == 0) return problem;
  Problem largest = problem;
  largest.layout.clear();
  const std::uint64_t element = std::max<std::uint64_t>(problem.element_bytes, 1);
  largest.block_bytes = std::bit_ceil(most) / element * element;
  largest.stride = largest.block_bytes;
  return largest;
}

Problem largest_list(const Problem& largest) {
  Problem list = largest;
  list.block_bytes = list.stride = 0;
  for (int rank = 0; rank < largest.ranks; ++rank) {
    list.layout.push_back(
        {static_cast<std::uint64_t>(rank) * largest.block_bytes, largest.block_bytes});
  }
  return list;
}

}  // namespace weft::comm
