// Reference reductions of single elements, written for reading, which kernels are compared with.
// And elements to try them on.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "kernels/operation.hpp"

namespace weft::test {

std::vector<Type> all_types();

/// What C's sizeof says of the element.
std::size_t bytes_of(Type type);

/// Whether MPI defines `op` on `type`.
bool is_defined(Operator op, Type type);

/// result = left op right, padding zero. `result` may be either.
void reference(Operator op, Type type, std::byte* result, const std::byte* left,
               const std::byte* right);

using Random = std::mt19937_64;

/// Any bits that make an element, among them many that are special or alike.
std::vector<std::byte> some_elements(Random& random, Type type, std::size_t count);

}  // namespace weft::test
