// Kernels by instruction set. operation(), in kernels/operation.hpp, takes the best of them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/operation.hpp"

namespace weft::engine {

/// The instruction sets that this processor and the kernels have in common, best first. The last
/// is "scalar", which is everywhere.
std::span<const std::string_view> instruction_sets();

/// operation(), with the kernels of one of instruction_sets(), or scalar ones where it has none.
Operation operation_by(std::string_view instruction_set, Operator op, Type type);

}  // namespace weft::engine
