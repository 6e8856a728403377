// Reduction kernels: scalar ones for every type, and vectorized ones for each instruction set.
//
// Rules that hold in all of them, so that a result has the same bits with every kernel, in every
// order of operands, and at the tail of a buffer as in its middle:
// - A result that is not a number is the quiet NaN of std::numeric_limits, whichever NaNs went in.
// - A minimum or maximum with a NaN is NaN. -0 is less than +0.
// - Products of complex numbers are (ac - bd) + (ad + bc)i, without the repairs that C makes where
//   infinities meet.
// - Operations on float16 and bfloat16 are done in float32 and rounded, each, to nearest even.
// - Minimum and maximum with place: NaN wins, -0 and +0 are equal, and the result is the zero
//   without a sign. Places that are floating point compare as IEEE 754's totalOrder has it.
// - Integers wrap around. Padding inside an element becomes zero.
// All of this assumes the default rounding of floating point. A single source is copied unchanged.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/operation.hpp"

namespace weft::kernels {

struct Kernel {
  Operation::Combine combine = nullptr;
  Operation::Fold fold = nullptr;
};

/// As Operation::Fold, with at least two sources. Each source is a stream that the processor has to
/// follow, so there should be few of them.
using Strip = void (*)(std::byte* dst, const std::byte* const* sources, std::size_t count,
                       std::size_t elements);

/// Folds any number of sources, a few at a time, in strips of dst that stay in the nearest cache:
/// memory sees each source read once and dst written once.
void fold_in_strips(Strip strip, std::size_t element_bytes, std::byte* dst,
                    const std::byte* const* sources, std::size_t count, std::size_t elements);

/// The kernel of a Rule: it has kElement_bytes, and strip<kCount>() with the arguments of Strip,
/// where kCount is the number of sources if that is known, else 0.
template <class Rule>
constexpr Kernel kernel_of() {
  return {[](const void*, std::byte* dst, const std::byte* left, const std::byte* right,
             std::size_t elements) {
            const std::array sources{left, right};
            Rule::template strip<2>(dst, sources.data(), 2, elements);
          },
          [](const void*, std::byte* dst, const std::byte* const* sources, std::size_t count,
             std::size_t elements) {
            fold_in_strips(&Rule::template strip<0>, Rule::kElement_bytes, dst, sources, count,
                           elements);
          }};
}

/// The kernel in plain C++, for every operation, type and processor. Empty where MPI defines no
/// such operation.
Kernel scalar_kernel(Operator op, Type type) noexcept;

}  // namespace weft::kernels
