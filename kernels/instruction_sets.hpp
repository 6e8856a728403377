// Instruction sets of this processor, and the reduction kernels written for each. operation(), in
// kernels/operation.hpp, takes the best of them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernel.hpp"
#include "kernels/operation.hpp"

namespace weft::kernels {

/// The instruction sets that both this processor and the kernels support, best first. The last is
/// "scalar", which every processor has.
std::span<const std::string_view> instruction_sets();
bool has_instruction_set(std::string_view name);

/// The kernel for one of instruction_sets(), or the scalar one where that set has none. Empty where
/// MPI defines no such operation. UsageError when the set is none of instruction_sets().
Kernel find_kernel(std::string_view instruction_set, Operator op, Type type);

/// As operation(), with find_kernel() of one of instruction_sets().
Operation operation_by(std::string_view instruction_set, Operator op, Type type);

}  // namespace weft::kernels
