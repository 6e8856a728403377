// Stages of a node: an allocator in them, whose offsets all ranks of the node compute alike.
#pragma once

#include <map>

#include "plan/builder.hpp"

namespace weft::hierarchy {

/// Allocates parts of the stages of all ranks of a node. Every rank of the node makes the same
/// calls in the same order, and so gets the same offsets; only the part in the builder's own stage
/// is allocated there. Nothing else may allocate stages meanwhile.
class Stages {
 public:
  explicit Stages(plan::Builder& builder) : builder_(builder) {}

  plan::Slice allocate(int owner, std::uint64_t bytes);

 private:
  plan::Builder& builder_;
  std::map<int, std::uint64_t> used_;  // by rank
};

}  // namespace weft::hierarchy
