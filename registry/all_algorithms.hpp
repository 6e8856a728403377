// All algorithms: flat ones (flat_algorithms.cpp) and schemes (schemes.cpp).
#pragma once

#include <span>

#include "algorithm/forms.hpp"

namespace weft::registry {

using algorithm::FlatAlgorithm;
using algorithm::Scheme;

/// The algorithms of one collective, in the order in which they are listed and compared. The first
/// flat algorithm is the step between nodes of a scheme unless another is asked for. Alltoallv has
/// those of alltoall.
std::span<const FlatAlgorithm* const> flat_algorithms(plan::Collective collective);
std::span<const Scheme* const> schemes(plan::Collective collective);

}  // namespace weft::registry
