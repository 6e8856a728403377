// A plan taken apart, so that tests can change it and build it again.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace weft::plan::testing {

struct Draft {
  struct Line {
    Op op;
    std::vector<OpId> after;
  };

  explicit Draft(const Plan& plan);

  /// UsageError where Builder refuses. Ops that move nothing vanish, and with them what follows
  /// them no longer does.
  Plan build() const;
  /// Takes the line out; what followed it follows what it followed.
  void drop(OpId id);
  /// Puts a copy of the line behind it, which follows it; what followed it follows the copy.
  void repeat(OpId id);

  int rank;
  int ranks;
  std::uint64_t input_bytes;
  std::uint64_t output_bytes;
  std::uint64_t stage_bytes;
  std::uint64_t scratch_bytes;
  std::vector<Line> lines;
};

}  // namespace weft::plan::testing
