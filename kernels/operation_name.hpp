// Name of an operation, found by its functions.
#pragma once

#include <string>

#include "kernels/operation.hpp"

namespace weft::kernels {

/// "sum of float64", where the operation is one of weft's own; else "own operation on elements of
/// 24 bytes". Looks through all of them: for messages.
std::string words_for(const Operation& operation);

}  // namespace weft::kernels
