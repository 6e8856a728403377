// Options that say which problem a collective is to solve. All of these throw UsageError, which
// names the option, its value and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/options/command.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

inline constexpr std::uint64_t kMostBlockBytes = 1 << 30;

/// The positional argument that names a collective.
plan::Collective parse_collective(const Text& text);

std::optional<std::uint64_t> parse_stride(const Text& text);

/// A problem of blocks of `bytes`, `stride` apart (side by side where there is none).
plan::Problem make_problem(plan::Collective collective, int ranks, std::uint64_t bytes,
                           std::optional<std::uint64_t> stride);

/// Properties of a reduction's operation: "commutative" (as a sum of floating point), "ordered"
/// (not commutative), "exact" (commutative, and associative to the bit).
inline constexpr std::array<std::string_view, 3> kOperations = {"commutative", "ordered", "exact"};
void set_operation(plan::Problem& problem, std::string_view text);
/// The name in kOperations that describes the problem's operation.
std::string_view operation_of(const plan::Problem& problem);

/// Kinds of counts of an alltoallv. equal: `bytes` for each pair. random: from none to twice as
/// many. sparse: seven of eight pairs have none. skew: rank 0 has `bytes` for each rank and each
/// for it, the others nothing.
inline constexpr std::array<std::string_view, 4> kCounts = {"random", "equal", "sparse", "skew"};

/// Gives an alltoallv its blocks: of the kind that `counts` names and of the problem's block_bytes,
/// side by side, or as far apart as its stride is above its block_bytes. The same in every run.
/// UsageError lists the kinds.
void set_counts(plan::Problem& problem, std::string_view counts);

}  // namespace weft::cli
