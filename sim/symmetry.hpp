// Symmetry of a machine: whether its nodes are alike.
#pragma once

#include <string>

#include "hierarchy/machine.hpp"

namespace weft::sim {

/// Why ranks of a machine can be of no classes, in words: it has one node, nodes that differ, or a
/// placement that is neither in blocks nor dealt out in turn. Empty where they may be.
std::string asymmetry(const hierarchy::Machine& machine);

}  // namespace weft::sim
