// Which algorithm a call takes where nothing is known of the adapter.
#pragma once

#include "plan/problem.hpp"
#include "tune/algorithm.hpp"

namespace weft::comm {

/// A fixed choice by size; the first of a list of candidates that may run. There always is one.
tune::Algorithm choose(const plan::Problem& problem, const tune::Facts& facts);

}  // namespace weft::comm
