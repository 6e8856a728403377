// Tuned: what a tuning of weft's own algorithms has found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/problem.hpp"

namespace weft::cli {

/// Of one size. Times are of one call, in seconds.
struct TunedSize {
  std::uint64_t bytes = 0;
  std::string algorithm;  ///< with its segment
  double seconds = 0;
  std::optional<double> predicted = {};  ///< for this algorithm; none: there is no profile
  std::string own_algorithm = {};        ///< weft's choice by itself; empty: not looked at
  double own_seconds = 0;
  double calls = 0;  ///< of a rank in the recording that is tuned for; 0: there is none
};

struct TunedCollective {
  plan::Collective collective = plan::Collective::broadcast;
  std::vector<TunedSize> sizes;  ///< ascending
};

}  // namespace weft::cli
