#include "kernels/operation.hpp"

#include <iterator>
#include <string_view>

#include "base/error.hpp"
#include "kernels/instruction_sets.hpp"
#include "kernels/operation_name.hpp"

namespace weft {

namespace {

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

}  // namespace

std::size_t size_of(Type type) {
  return row_of(type).bytes;
}

Operation operation(Operator op, Type type) {
  return kernels::operation_by(kernels::instruction_sets().front(), op, type);
}

Operation kernels::operation_by(std::string_view instruction_set, Operator op, Type type) {
  const TypeRow& row = row_of(type);
  const std::string_view name = name_of(op);
  const Kernel found = find_kernel(instruction_set, op, type);
  if (!found.fold) throw_usage("{} of {}: MPI defines no such operation", name, row.name);
  const bool adds = op == Operator::sum || op == Operator::product;
  return {row.bytes, true, !(adds && row.is_rounded), found.combine, found.fold, nullptr};
}

std::string kernels::words_for(const Operation& operation) {
  const std::string_view set = instruction_sets().front();
  for (std::size_t op = 0; op < std::size(kOperators); ++op) {
    for (std::size_t type = 0; type < std::size(kTypes); ++type) {
      const Kernel found = find_kernel(set, static_cast<Operator>(op), static_cast<Type>(type));
      if (found.combine != nullptr && found.combine == operation.combine) {
        return fmt::format("{} of {}", kOperators[op], kTypes[type].name);
      }
    }
  }
  return fmt::format("own operation on elements of {} bytes", operation.element_bytes);
}

}  // namespace weft
