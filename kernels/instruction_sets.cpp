#include "kernels/instruction_sets.hpp"

#include <algorithm>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/error.hpp"
#include "kernels/simd_kernels.hpp"

namespace weft::kernels {

namespace {

#if defined(__x86_64__)
// Not every compiler's builtin knows its name.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

bool has(SimdSet set) {
#if defined(__x86_64__)
  switch (set) {
    case SimdSet::avx512:
      if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))) {
        return false;
      }
      [[fallthrough]];
    case SimdSet::avx2:
      if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_f16c())) {
        return false;
      }
      [[fallthrough]];
    case SimdSet::sse4:
      return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
             __builtin_cpu_supports("sse4.2");
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

Kernel find_kernel(std::string_view instruction_set, Operator op, Type type) {
  const auto sets = instruction_sets();
  if (std::ranges::find(sets, instruction_set) == sets.end()) {
    throw_usage("instruction set '{}': not here, only {}", instruction_set, fmt::join(sets, ", "));
  }
  Kernel found;
  for (const Candidate& each : kCandidates) {
    if (each.name == instruction_set) found = kernel_in(each.set, op, type);
  }
  return found.fold ? found : scalar_kernel(op, type);
}

}  // namespace weft::kernels
