// Task and call: a collective that a caller asks for, and the programs that carry it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/run/executor.hpp"
#include "kernels/operation.hpp"
#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// A collective on the caller's buffers.
struct Task {
  plan::Problem problem = {};
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Operation operation = {};  // of reductions
  /// A scatter or gather of which each rank knows its own block and the root knows all:
  /// `problem.layout` may be anything but for those.
  bool irregular = false;
  /// The output is where the input is, and algorithms may write there before they have read it.
  bool in_place = false;
  /// Of an alltoallv: what this rank sends to each (none in place), and receives from each. Of the
  /// caller: gone when the call is over.
  std::span<const Part> sends = {};
  std::span<const Part> receives = {};
};

inline constexpr std::size_t kNoEntry = SIZE_MAX;

/// The programs for one problem: a run for every slice of its blocks.
struct Call {
  plan::Problem problem;
  std::uint64_t slice_bytes = 0;  // of each block, in all runs but the last; 0: all at once
  std::optional<engine::Prepared> slice;
  std::optional<engine::Prepared> rest;  // the last run, when it is shorter
  std::size_t entry = kNoEntry;          // in the statistics
  bool reads_peers = false;              // some rank does: others' buffers where they lie
  bool is_plain = false;                 // one run on the caller's buffers as they are
  std::uint64_t input_bytes = 0;
  std::uint32_t key = 0;     // call_key()
  bool is_of_class = false;  // of sizes: each rank prepares it alone
  bool is_kept = false;      // for repeats, as long as Calls::kept_since() stays
};

/// "reduce of 64 bytes with root 1 in elements of 8": what all ranks must give alike.
std::string describe(const plan::Problem& problem);

/// "alltoallv", "scatter of blocks of different sizes with root 1": the same of a call of which
/// each rank knows its own part.
std::string describe_irregular(const plan::Problem& problem);

/// What ranks compare of their calls: the same number on all, of arguments that all must give
/// alike.
std::uint32_t call_key(const plan::Problem& problem, bool is_irregular = false);

struct ProblemHash {
  std::size_t operator()(const plan::Problem& problem) const noexcept;
};

}  // namespace weft::comm
