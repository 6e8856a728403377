#include "kernels/kernels.hpp"

#include <algorithm>
#include <array>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/error.hpp"
#include "kernels/kernels_scalar.hpp"
#include "kernels/kernels_simd.hpp"

namespace weft {

namespace {

using engine::Kernel;
using engine::SimdSet;

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
  bool is_rounded = false;  // sums and products are
};

template <class T, class Place>
struct PairOf {
  T value;
  Place place;
};

// By Type.
constexpr TypeRow kTypes[] = {
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2, true},
    {"bfloat16", 2, true},
    {"float32", 4, true},
    {"float64", 8, true},
    {"float_extended", sizeof(long double), true},
    {"complex64", 8, true},
    {"complex128", 16, true},
    {"complex_extended", 2 * sizeof(long double), true},
    {"int16_int32", sizeof(PairOf<std::int16_t, std::int32_t>)},
    {"int32_int32", sizeof(PairOf<std::int32_t, std::int32_t>)},
    {"int64_int32", sizeof(PairOf<std::int64_t, std::int32_t>)},
    {"float32_int32", sizeof(PairOf<float, std::int32_t>)},
    {"float64_int32", sizeof(PairOf<double, std::int32_t>)},
    {"float_extended_int32", sizeof(PairOf<long double, std::int32_t>)},
    {"float32_float32", sizeof(PairOf<float, float>)},
    {"float64_float64", sizeof(PairOf<double, double>)},
};

// By Operator.
constexpr std::string_view kOperators[] = {"sum",
                                           "product",
                                           "minimum",
                                           "maximum",
                                           "logical_and",
                                           "logical_or",
                                           "logical_xor",
                                           "bitwise_and",
                                           "bitwise_or",
                                           "bitwise_xor",
                                           "minimum_with_place",
                                           "maximum_with_place"};

const TypeRow& row_of(Type type) {
  const auto index = static_cast<std::size_t>(type);
  if (index >= std::size(kTypes)) throw_usage("type {}: no such type of elements", index);
  return kTypes[index];
}

std::string_view name_of(Operator op) {
  const auto index = static_cast<std::size_t>(op);
  if (index >= std::size(kOperators)) throw_usage("operator {}: no such operation", index);
  return kOperators[index];
}

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
  Kernel found = engine::simd_integer_kernel(set, op, type);
  if (!found.fold) found = engine::simd_float_kernel(set, op, type);
  if (!found.fold) found = engine::simd_pair_kernel(set, op, type);
  return found;
}

}  // namespace

namespace engine {

std::span<const std::string_view> instruction_sets() {
  static const std::vector<std::string_view> sets = [] {
    std::vector<std::string_view> found;
    for (const Candidate& each : kCandidates) {
      // Whether the compiler knew the set shows in any of its kernels.
      if (has(each.set) && kernel_in(each.set, Operator::sum, Type::int32).fold) {
        found.push_back(each.name);
      }
    }
    found.push_back(kScalar);
    return found;
  }();
  return sets;
}

Operation operation_by(std::string_view instruction_set, Operator op, Type type) {
  const auto sets = instruction_sets();
  if (std::ranges::find(sets, instruction_set) == sets.end()) {
    throw_usage("instruction set '{}': not here, only {}", instruction_set, fmt::join(sets, ", "));
  }
  const TypeRow& row = row_of(type);
  const std::string_view name = name_of(op);
  Kernel found;
  for (const Candidate& each : kCandidates) {
    if (each.name == instruction_set) found = kernel_in(each.set, op, type);
  }
  if (!found.fold) found = scalar_kernel(op, type);
  if (!found.fold) throw_usage("{} of {}: MPI defines no such operation", name, row.name);
  const bool adds = op == Operator::sum || op == Operator::product;
  return {row.bytes, true, !(adds && row.is_rounded), found.combine, found.fold, nullptr};
}

}  // namespace engine

std::size_t size_of(Type type) {
  return row_of(type).bytes;
}

Operation operation(Operator op, Type type) {
  return engine::operation_by(engine::instruction_sets().front(), op, type);
}

}  // namespace weft
