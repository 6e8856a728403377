// Reading what stands on the command line. All of these throw UsageError, which names the option,
// its value and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

inline constexpr int kMostRanks = 4096;
inline constexpr std::uint64_t kMostBlockBytes = 1 << 30;

/// An option's text; nullopt where it is not given.
using Text = std::optional<std::string>;

/// The text of an option that must be there; `what` says how to give it.
const std::string& required(const Text& text, std::string_view what);

/// "12", or "1..40": both ends included.
struct Range {
  int first = 0;
  int last = 0;
};
Range parse_range(std::string_view option, std::string_view text, int low, int high);

/// "1,8,4K".
std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text,
                                       std::uint64_t low, std::uint64_t high);

/// The position of `text` among `allowed`.
std::size_t parse_choice(std::string_view option, std::string_view text,
                         const std::vector<std::string_view>& allowed);

/// The positional argument that names a collective.
plan::Collective parse_collective(const Text& text);

/// A problem of blocks of `bytes`, `stride` apart (side by side where there is none).
plan::Problem make_problem(plan::Collective collective, int ranks, std::uint64_t bytes,
                           std::optional<std::uint64_t> stride);

/// What reductions take for granted of their operation: "commutative" (as a sum of floating
/// point), "ordered" (not commutative), "exact" (commutative and associative to the bit).
void set_operation(plan::Problem& problem, std::string_view text);
inline constexpr std::array<std::string_view, 3> kOperations = {"commutative", "ordered", "exact"};
/// The one of kOperations that describes it.
std::string_view operation_of(const plan::Problem& problem);
std::optional<std::uint64_t> parse_stride(const Text& text);

/// The two ways to say a machine: --machine, or --nodes with --ppn, --sockets and --placement.
struct MachineOptions {
  Text machine;
  Text nodes;
  Text ppn;
  Text sockets;
  Text placement;

  void add_to(CLI::App& command);
  bool given() const { return machine || nodes || ppn || sockets || placement; }
  /// Of at most so many ranks.
  hierarchy::Machine read(int most_ranks = kMostRanks) const;
};

/// --machine's value, of at most so many ranks.
hierarchy::Machine parse_machine(std::string_view text, int most_ranks = kMostRanks);

}  // namespace weft::cli
