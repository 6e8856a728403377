#include "cli/options/problem_options.hpp"

#include <random>
#include <vector>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/options/arguments.hpp"

namespace weft::cli {

namespace {

/// A random number for a pair of ranks. Distributions of the standard library differ between
/// systems; its engines do not.
std::uint64_t drawn(int from, int to) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(from) * 1'000'003 +
                         static_cast<std::uint64_t>(to));
  return engine();
}

/// The same for a distance from rank to rank, so that all ranks do the same.
std::uint64_t few(std::uint64_t bytes, int distance) {
  const std::uint64_t random = drawn(distance, 0);
  if (distance == 0 || (distance != 1 && random % 100 != 0)) return 0;
  return random / 100 % (2 * bytes + 1);
}

std::uint64_t count(std::string_view kind, std::uint64_t bytes, int ranks, int from, int to) {
  if (kind == "few") return few(bytes, (to - from + ranks) % ranks);
  if (kind == "equal") return bytes;
  const std::uint64_t random = drawn(from, to) % (2 * bytes + 1);
  if (kind == "random") return random;
  if (kind == "sparse") return drawn(to, from) % 8 == 0 ? random : 0;
  return from == 0 || to == 0 ? bytes : 0;  // skew
}

}  // namespace

plan::Collective parse_collective(const Text& text) {
  return plan::parse_collective(required(text, "the collective (such as alltoall)"));
}

plan::Problem make_problem(plan::Collective collective, int ranks, std::uint64_t bytes,
                           std::optional<std::uint64_t> stride) {
  plan::Problem problem{collective, ranks, bytes, stride.value_or(bytes)};
  if (problem.stride < bytes) {
    throw_usage("--stride={}: blocks of {} bytes would overlap; allowed: at least --bytes", *stride,
                bytes);
  }
  return problem;
}

void set_operation(plan::Problem& problem, std::string_view text) {
  const auto choice = parse_choice("--operation", text, {kOperations.begin(), kOperations.end()});
  problem.commutative = choice != 1;
  problem.associative = choice == 2;
}

std::string_view operation_of(const plan::Problem& problem) {
  if (!problem.commutative) return kOperations[1];
  return kOperations[problem.associative ? 2 : 0];
}

std::optional<std::uint64_t> parse_stride(const Text& text) {
  if (!text) return std::nullopt;
  return env::parse_bytes("--stride", *text, 0, kMostBlockBytes);
}

void check_counts(std::string_view counts) {
  parse_choice("--counts", counts, {kCounts.begin(), kCounts.end()});
}

std::vector<plan::Block> row_of(const plan::Problem& problem, std::string_view counts, int rank,
                                bool sends) {
  const std::uint64_t gap = problem.stride - problem.block_bytes;
  std::vector<plan::Block> blocks;
  std::uint64_t offset = 0;
  for (int peer = 0; peer < problem.ranks; ++peer) {
    const bool up =
        problem.in_place ? rank < peer : sends;  // in place both directions have equal counts
    const std::uint64_t bytes =
        count(counts, problem.block_bytes, problem.ranks, up ? rank : peer, up ? peer : rank);
    blocks.push_back({offset, bytes});
    offset += bytes + gap;
  }
  return blocks;
}

void set_counts(plan::Problem& problem, std::string_view counts) {
  check_counts(counts);
  problem.sends.clear();
  problem.receives.clear();
  for (int rank = 0; rank < problem.ranks; ++rank) {
    if (!problem.in_place) problem.sends.push_back(row_of(problem, counts, rank, true));
    problem.receives.push_back(row_of(problem, counts, rank, false));
  }
}

}  // namespace weft::cli
