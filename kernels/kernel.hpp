// What the kernels of reductions share: scalar ones for every type, and vectorized ones for each
// instruction set.
//
// The rules that hold in all of them, so that a result has the same bits whichever ran, in
// whatever order of operands, and on the tail of a buffer as in its middle:
// - A result that is not a number is the quiet NaN of std::numeric_limits, whichever NaNs went in.
// - A minimum or maximum with a NaN is NaN. -0 is less than +0.
// - Products of complex numbers are (ac - bd) + (ad + bc)i, without the repairs that C makes where
//   infinities meet.
// - Operations on float16 and bfloat16 are done in float32 and rounded, each, to nearest even.
// - Minimum and maximum with place: NaN wins, -0 and +0 are equal, and the result is the zero
//   without a sign. Places that are floating point compare as IEEE 754's totalOrder has it.
// - Integers wrap around. Padding inside an element becomes zero.
// It all stands on the default rounding of floating point. One source alone is copied as it is.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/operation.hpp"

namespace weft::engine {

struct Kernel {
  Operation::Combine combine = nullptr;
  Operation::Fold fold = nullptr;
};

/// Operation::Fold, but at least two sources, and better not many at once: reads as many streams.
using Strip = void (*)(std::byte* dst, const std::byte* const* sources, std::size_t count,
                       std::size_t elements);

/// Folds any number of sources in strips of dst that stay in the nearest cache, so each source is
/// read and dst is written once in memory, however many streams the processor can follow.
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

}  // namespace weft::engine
