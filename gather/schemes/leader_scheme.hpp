// Leader scheme: what every scheme by leaders that moves data begins with.
#pragma once

#include "algorithm/inside_step.hpp"
#include "algorithm/parameters.hpp"
#include "gather/schemes/leaders.hpp"
#include "plan/problem.hpp"

namespace weft::gather {

/// Base of one rank's part in a scheme by leaders: what is asked for, where the rank is, and who
/// leads. The arguments must live longer.
class LeaderScheme {
 protected:
  /// The group of `root` is led by it (-1: there is none).
  LeaderScheme(plan::Builder& builder, const plan::Problem& problem,
               const hierarchy::Machine& machine, const algorithm::Parameters& parameters,
               int root = -1)
      : builder_(builder),
        problem_(problem),
        machine_(machine),
        parameters_(parameters),
        self_(builder.rank()),
        node_(machine.node_of(self_)),
        local_(machine.ranks_on(node_)),
        leaders_(machine, parameters.leaders, root),
        stages_(builder) {}

  const algorithm::InsideStep& step() const { return *parameters_.inside; }

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const hierarchy::Machine& machine_;
  const algorithm::Parameters& parameters_;
  const int self_;
  const int node_;
  const std::span<const int> local_;  // the ranks of the node
  const Leaders leaders_;
  hierarchy::Stages stages_;
};

}  // namespace weft::gather
