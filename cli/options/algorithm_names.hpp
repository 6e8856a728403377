// Names of algorithms on the command line: lists for help texts, and the variants to check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::cli {

using registry::Algorithm;

/// All algorithms, each with all parameters that make a difference: the list to be verified.
std::vector<Algorithm> algorithm_variants(plan::Collective collective, int ranks);

/// Flat ones, then schemes.
std::vector<std::string_view> all_algorithm_names(plan::Collective collective);

/// Help text: the algorithms of alltoall with their summaries, a line each, and the names of those
/// of the other collectives.
std::string list_algorithms();
/// "isend, bruck, ...".
std::string algorithm_names(plan::Collective collective);

}  // namespace weft::cli
