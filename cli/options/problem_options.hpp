// Options that describe the problem of a collective: block sizes, root, operation, counts. All
// parsers throw UsageError, which names the option, its value and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/options/command.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

inline constexpr std::uint64_t kMostBlockBytes = 1 << 30;

/// The positional argument that names a collective.
plan::Collective parse_collective(const Text& text);

std::optional<std::uint64_t> parse_stride(const Text& text);

/// A problem of blocks of `bytes`, at a distance of `stride` (adjacent where there is none).
plan::Problem make_problem(plan::Collective collective, int ranks, std::uint64_t bytes,
                           std::optional<std::uint64_t> stride);

/// Properties of a reduction's operation: "commutative" (as a sum of floating point), "ordered"
/// (not commutative), "exact" (commutative, and associative to the bit).
inline constexpr std::array<std::string_view, 3> kOperations = {"commutative", "ordered", "exact"};
void set_operation(plan::Problem& problem, std::string_view text);
/// The name in kOperations that describes the problem's operation.
std::string_view operation_of(const plan::Problem& problem);

/// Kinds of counts of an alltoallv. equal: `bytes` for each pair. random: 0 to 2 * `bytes`. sparse:
/// random for one pair in eight, 0 for the others. few: random for one distance from rank to rank
/// in a hundred, and at least the next, the same for all ranks; 0 for the others. skew: `bytes`
/// from and to rank 0, 0 for pairs without it.
inline constexpr std::array<std::string_view, 5> kCounts = {"random", "equal", "sparse", "few",
                                                            "skew"};
/// UsageError lists the kinds.
void check_counts(std::string_view counts);
/// What a rank sends to each, or receives from each, in an alltoallv of the kind `counts` with the
/// problem's block_bytes, and with gaps of stride - block_bytes between blocks. Deterministic.
std::vector<plan::Block> row_of(const plan::Problem& problem, std::string_view counts, int rank,
                                bool sends);

/// Sets the blocks of an alltoallv: the rows of all ranks. UsageError lists the kinds.
void set_counts(plan::Problem& problem, std::string_view counts);

}  // namespace weft::cli
