// A collective that a caller asks for: what, on which buffers.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/operation.hpp"
#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

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

}  // namespace weft::comm
