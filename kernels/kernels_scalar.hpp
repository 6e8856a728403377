// Kernels for every operation, type and processor, in plain C++.
#pragma once

#include "kernels/kernel.hpp"

namespace weft::engine {

/// Empty where MPI defines no such operation.
Kernel scalar_kernel(Operator op, Type type) noexcept;

}  // namespace weft::engine
