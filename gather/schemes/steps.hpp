// The steps of hierarchical schemes: among leaders between nodes, and among the ranks of a node.
#pragma once

#include "gather/registry.hpp"

namespace weft::gather {

/// A flat algorithm on a team, in segments where the parameters say so and it reads them.
Arrived move(plan::Builder& builder, const Team& team, const FlatAlgorithm& algorithm,
             const Parameters& parameters);

/// The step between nodes that the parameters choose for `collective`.
const FlatAlgorithm& step_between(plan::Collective collective, const Parameters& parameters);
const InsideAlgorithm& step_inside(plan::Collective collective, const Parameters& parameters);

/// The step inside nodes: a team whose members share the node. `collective` says of which kind it
/// is, which need not be that of the scheme.
Arrived move_inside(plan::Builder& builder, const Team& team, plan::Collective collective,
                    const InsideAlgorithm& inside);

}  // namespace weft::gather
