// Steps inside nodes: how schemes move blocks among the ranks of a node, by name.
#pragma once

#include <array>

#include "algorithm/inside_step.hpp"
#include "gather/flat/tree.hpp"
#include "plan/problem.hpp"

namespace weft::gather {

using algorithm::CopyForm;
using algorithm::InsideStep;

/// The first one is taken unless another is asked for.
inline constexpr std::array<InsideStep, 6> kInsideSteps = {{
    {"staged", "copies by way of the node's stages", nullptr, CopyForm::staged},
    {"direct", "copies from and into the buffers of other ranks", nullptr, CopyForm::direct},
    {"binomial", "messages along a binomial tree", binomial_tree},
    {"binary", "messages along a binary tree", binary_tree},
    {"chain", "messages from each to the next", chain_tree},
    {"sequential", "messages between one and each", sequential_tree},
}};
inline constexpr std::array<InsideStep, 2> kInsideCopies = {kInsideSteps[0], kInsideSteps[1]};
/// A barrier has signals in place of messages, and nothing to copy.
inline constexpr std::array<InsideStep, 3> kInsideBarrierSteps = {{
    {"sequential", "one waits for all, then lets all go", sequential_tree},
    {"binomial", "up a binomial tree and down", binomial_tree},
    {"binary", "up a binary tree and down", binary_tree},
}};

/// A step on a team whose members share the node. `collective` says of which kind the team is,
/// which need not be that of the scheme.
Arrived move_inside(plan::Builder& builder, const Team& team, plan::Collective collective,
                    const InsideStep& inside);

}  // namespace weft::gather
