// Algorithms, as the command line names them.
#pragma once

#include <string>
#include <vector>

#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::cli {

using registry::Algorithm;

/// Every algorithm with every parameter that makes a difference: what is to be proved.
std::vector<Algorithm> algorithm_variants(plan::Collective collective, int ranks);

/// For help texts: the algorithms of alltoall with their summaries, a line each, and the names of
/// the others'.
std::string list_algorithms();
/// "isend, bruck, ...".
std::string algorithm_names(plan::Collective collective);

}  // namespace weft::cli
