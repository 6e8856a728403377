#include "kernels/instruction_sets.hpp"

#include <algorithm>
#include <vector>

// The C library asked the processor when the program started. To ask once more takes some
// microseconds in a virtual machine, for each question. Its header says _Bool, which Clang does not
// know in C++.
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>) && !defined(__clang__)
#include <sys/platform/x86.h>
#define WEFT_HAS(name, upper_name) CPU_FEATURE_ACTIVE(upper_name)
#elif defined(__x86_64__)
#include <cpuid.h>
#define WEFT_HAS(name, upper_name) __builtin_cpu_supports(name)
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/error.hpp"
#include "kernels/simd_kernels.hpp"

namespace weft::kernels {

namespace {

#if defined(__x86_64__)
bool has_f16c() {
#ifdef CPU_FEATURE_ACTIVE
  return CPU_FEATURE_ACTIVE(F16C);
#else
  // Not every compiler's builtin knows its name.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
#endif
}
#endif

bool has(SimdSet set) {
#if defined(__x86_64__)
  switch (set) {
    case SimdSet::avx512:
      if (!(WEFT_HAS("avx512f", AVX512F) && WEFT_HAS("avx512vl", AVX512VL) &&
            WEFT_HAS("avx512dq", AVX512DQ) && WEFT_HAS("avx512bw", AVX512BW))) {
        return false;
      }
      [[fallthrough]];
    case SimdSet::avx2:
      if (!(WEFT_HAS("avx2", AVX2) && WEFT_HAS("bmi", BMI1) && WEFT_HAS("bmi2", BMI2) &&
            WEFT_HAS("fma", FMA) && has_f16c())) {
        return false;
      }
      [[fallthrough]];
    case SimdSet::sse4:
      return WEFT_HAS("ssse3", SSSE3) && WEFT_HAS("sse4.1", SSE4_1) && WEFT_HAS("sse4.2", SSE4_2);
    default:
      return false;
  }
#elif defined(__aarch64__)
  constexpr unsigned long kSve = 1UL << 22;  // HWCAP_SVE
  return set == SimdSet::neon || (set == SimdSet::sve && (getauxval(AT_HWCAP) & kSve) != 0);
#else
  (void)set;
  return false;
#endif
}

struct Candidate {
  std::string_view name;
  SimdSet set;
};

constexpr Candidate kCandidates[] = {{"avx512", SimdSet::avx512},
                                     {"avx2", SimdSet::avx2},
                                     {"sse4", SimdSet::sse4},
                                     {"sve", SimdSet::sve},
                                     {"neon", SimdSet::neon}};
constexpr std::string_view kScalar = "scalar";

Kernel kernel_in(SimdSet set, Operator op, Type type) {
  Kernel found = simd_integer_kernel(set, op, type);
  if (!found.fold) found = simd_float_kernel(set, op, type);
  if (!found.fold) found = simd_pair_kernel(set, op, type);
  return found;
}

}  // namespace

std::span<const std::string_view> instruction_sets() {
  // Never destroyed: programs end in any order.
  static const auto& sets = *new std::vector<std::string_view>([] {
    std::vector<std::string_view> found;
    for (const Candidate& each : kCandidates) {
      // Whether the compiler knew the set shows in any of its kernels.
      if (has(each.set) && kernel_in(each.set, Operator::sum, Type::int32).fold) {
        found.push_back(each.name);
      }
    }
    found.push_back(kScalar);
    return found;
  }());
  return sets;
}

bool has_instruction_set(std::string_view name) {
  return std::ranges::find(instruction_sets(), name) != instruction_sets().end();
}

Kernel find_kernel(std::string_view instruction_set, Operator op, Type type) {
  if (!has_instruction_set(instruction_set)) {
    throw_usage("instruction set '{}': not here, only {}", instruction_set,
                fmt::join(instruction_sets(), ", "));
  }
  Kernel found;
  for (const Candidate& each : kCandidates) {
    if (each.name == instruction_set) found = kernel_in(each.set, op, type);
  }
  return found.fold ? found : scalar_kernel(op, type);
}

}  // namespace weft::kernels
