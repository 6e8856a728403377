// Calls in words.
#pragma once

#include <string>

#include "plan/problem.hpp"

namespace weft::comm {

/// "reduce of 64 bytes with root 1 in elements of 8": what all ranks must give alike.
std::string describe(const plan::Problem& problem);

}  // namespace weft::comm
