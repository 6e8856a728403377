// Vectorized kernels, written with Highway and compiled once for each instruction set. Only its
// headers are used: instruction_sets.cpp asks the processor for its sets, so that a preloaded
// add-on brings no library of Highway's into a program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

// Of sets that differ little for reductions, the one that more processors have. No kernel needs
// AES.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Instrumented, each set takes minutes to compile, and all are the same source.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#define HWY_DISABLE_PCLMUL_AES

namespace weft::kernels {

/// Best first.
enum class SimdSet : std::uint8_t { avx512, avx2, sse4, sve, neon };

/// Empty where there is none in that set.
Kernel simd_integer_kernel(SimdSet set, Operator op, Type type) noexcept;
Kernel simd_float_kernel(SimdSet set, Operator op, Type type) noexcept;
Kernel simd_pair_kernel(SimdSet set, Operator op, Type type) noexcept;

}  // namespace weft::kernels

/// What FIND(op, type), compiled for each set, finds in `set`.
#define WEFT_FIND_IN(set, FIND, op, type)                                    \
  do {                                                                       \
    using Find = Kernel (*)(Operator, Type);                                 \
    constexpr Find kFinds[] = {HWY_CHOOSE_AVX3(FIND), HWY_CHOOSE_AVX2(FIND), \
                               HWY_CHOOSE_SSE4(FIND), HWY_CHOOSE_SVE(FIND),  \
                               HWY_CHOOSE_NEON(FIND)};                       \
    const Find find_in_set = kFinds[static_cast<std::size_t>(set)];          \
    return find_in_set ? find_in_set(op, type) : Kernel{};                   \
  } while (false)
