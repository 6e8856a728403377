// Room in the stages of a node, handed out so that all its ranks know where everything lies.
#pragma once

#include <map>

#include "plan/builder.hpp"

namespace weft::hierarchy {

/// Hands out parts of the stages of all ranks of a node. Every rank of the node makes the same
/// calls in the same order, and then agrees with the others on each offset; only what is the
/// builder's own is allocated. No other allocation of stages may go on beside it.
class Stages {
 public:
  explicit Stages(plan::Builder& builder) : builder_(builder) {}

  plan::Slice allocate(int owner, std::uint64_t bytes);

 private:
  plan::Builder& builder_;
  std::map<int, std::uint64_t> used_;  // by rank
};

}  // namespace weft::hierarchy
