// Job plan: what a tuning on the ranks of a job is asked for, before there is a job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tune/tune_options.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

/// What a tuning on ranks finds must gain so much over what is chosen without it, and more where
/// the intervals of the two times are wider; less is noise.
inline constexpr double kLeastGain = 0.02;

struct JobPlan {
  /// The collectives that the options name, or all of `allowed`; others are UsageErrors, to which
  /// `because` gives the reason ("--format mpich has rules for"). So are options about what the job
  /// decides.
  JobPlan(const TuneOptions& options, std::span<const plan::Collective> allowed,
          std::string_view because);

  std::vector<plan::Collective> collectives;
  std::vector<std::uint64_t> sizes;  ///< ascending
  int step = 1;
  std::uint64_t least_segment = 1024;

  /// A barrier has none.
  std::vector<std::uint64_t> sizes_of(plan::Collective collective) const;
};

}  // namespace weft::cli
