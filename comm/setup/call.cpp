#include "comm/setup/call.hpp"

#include <fmt/format.h>

namespace weft::comm {

std::string describe(const plan::Problem& problem) {
  std::string text =
      fmt::format("{} of {} bytes", to_string(problem.collective), problem.block_bytes);
  if (problem.in_place) text += " in place";
  if (is_rooted(problem.collective)) text += fmt::format(" with root {}", problem.root);
  if (is_reduction(problem.collective)) {
    text += fmt::format(" in elements of {}{}", problem.element_bytes,
                        problem.commutative ? "" : " in order");
  }
  if (!problem.layout.empty()) {
    std::uint64_t digest = 0;
    for (const plan::Block& block : problem.layout) {
      digest = (digest ^ block.offset ^ (block.bytes << 1)) * 0x9e3779b97f4a7c15u;
    }
    text += fmt::format(" and blocks {:x}", digest);
  }
  return text;
}

std::string describe_irregular(const plan::Problem& problem) {
  std::string text(to_string(problem.collective));
  if (!is_rooted(problem.collective)) return text;
  return text + fmt::format(" of blocks of different sizes with root {}", problem.root);
}

namespace {

/// `has_sizes`: of its sizes and places, too.
std::uint64_t hash_of(const plan::Problem& problem, bool has_sizes) noexcept {
  auto hash = static_cast<std::uint64_t>(problem.collective);
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(has_sizes ? problem.block_bytes : 0);
  mix(has_sizes ? problem.stride : 0);
  mix(static_cast<std::uint64_t>(problem.root));
  mix(problem.element_bytes * 32 + static_cast<std::uint64_t>(problem.leaving) * 8 +
      std::uint64_t{problem.commutative} * 4 + std::uint64_t{problem.associative} * 2 +
      problem.in_place);
  if (!has_sizes) return hash;
  for (const plan::Block& block : problem.layout) {
    mix(block.offset);
    mix(block.bytes);
  }
  return hash;
}

}  // namespace

std::uint32_t call_key(const plan::Problem& problem, bool is_irregular) {
  const bool has_sizes = !is_irregular && problem.collective != plan::Collective::alltoallv;
  const std::uint64_t hash = hash_of(problem, has_sizes);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

std::size_t ProblemHash::operator()(const plan::Problem& problem) const noexcept {
  return hash_of(problem, true);
}

}  // namespace weft::comm
