// Whom a plan talks to.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace weft::comm {

/// Ranks that a plan exchanges messages with, ascending.
std::vector<int> peers_of(const plan::Plan& plan);

}  // namespace weft::comm
