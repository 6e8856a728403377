#include "mpi/operations/predefined.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::mpi {

namespace {

struct NamedOperator {
  MPI_Op op;
  Operator meaning;
};

enum class Kind { signed_integer, unsigned_integer, bits, floating, complex, pair };

struct NamedType {
  MPI_Datatype type;
  Kind kind;
  Type pair = Type::int8;  // of kind pair
};

// The kind of each type; its size differs between hosts and is asked of the host.
const auto& named_types() {  // NOLINT(readability-function-size): a table
  using enum Kind;
  static const std::array types = {
      NamedType{MPI_DOUBLE, floating},
      NamedType{MPI_INT, signed_integer},
      NamedType{MPI_FLOAT, floating},
      NamedType{MPI_LONG, signed_integer},
      NamedType{MPI_DOUBLE_PRECISION, floating},
      NamedType{MPI_INTEGER, signed_integer},
      NamedType{MPI_REAL, floating},
      NamedType{MPI_LONG_LONG_INT, signed_integer},
      NamedType{MPI_UNSIGNED_LONG, unsigned_integer},
      NamedType{MPI_UNSIGNED, unsigned_integer},
      NamedType{MPI_INT64_T, signed_integer},
      NamedType{MPI_INT32_T, signed_integer},
      NamedType{MPI_INT16_T, signed_integer},
      NamedType{MPI_INT8_T, signed_integer},
      NamedType{MPI_UINT64_T, unsigned_integer},
      NamedType{MPI_UINT32_T, unsigned_integer},
      NamedType{MPI_UINT16_T, unsigned_integer},
      NamedType{MPI_UINT8_T, unsigned_integer},
      NamedType{MPI_UNSIGNED_LONG_LONG, unsigned_integer},
      NamedType{MPI_SHORT, signed_integer},
      NamedType{MPI_UNSIGNED_SHORT, unsigned_integer},
      NamedType{MPI_SIGNED_CHAR, signed_integer},
      NamedType{MPI_UNSIGNED_CHAR, unsigned_integer},
      NamedType{MPI_AINT, signed_integer},
      NamedType{MPI_OFFSET, signed_integer},
      NamedType{MPI_COUNT, signed_integer},
      NamedType{MPI_BYTE, bits},
      NamedType{MPI_C_BOOL, unsigned_integer},
      NamedType{MPI_CXX_BOOL, unsigned_integer},
      NamedType{MPI_LOGICAL, signed_integer},
      NamedType{MPI_LONG_DOUBLE, floating},
      NamedType{MPI_C_FLOAT_COMPLEX, complex},
      NamedType{MPI_C_DOUBLE_COMPLEX, complex},
      NamedType{MPI_C_LONG_DOUBLE_COMPLEX, complex},
      NamedType{MPI_CXX_FLOAT_COMPLEX, complex},
      NamedType{MPI_CXX_DOUBLE_COMPLEX, complex},
      NamedType{MPI_CXX_LONG_DOUBLE_COMPLEX, complex},
      NamedType{MPI_COMPLEX, complex},
      NamedType{MPI_DOUBLE_COMPLEX, complex},
      NamedType{MPI_INTEGER1, signed_integer},
      NamedType{MPI_INTEGER2, signed_integer},
      NamedType{MPI_INTEGER4, signed_integer},
      NamedType{MPI_INTEGER8, signed_integer},
      NamedType{MPI_REAL4, floating},
      NamedType{MPI_REAL8, floating},
      NamedType{MPI_COMPLEX8, complex},
      NamedType{MPI_COMPLEX16, complex},
      NamedType{MPI_2INT, pair, Type::int32_int32},
      NamedType{MPI_FLOAT_INT, pair, Type::float32_int32},
      NamedType{MPI_DOUBLE_INT, pair, Type::float64_int32},
      NamedType{MPI_LONG_INT, pair, Type::int64_int32},
      NamedType{MPI_SHORT_INT, pair, Type::int16_int32},
      NamedType{MPI_LONG_DOUBLE_INT, pair, Type::float_extended_int32},
      NamedType{MPI_2INTEGER, pair, Type::int32_int32},
      NamedType{MPI_2REAL, pair, Type::float32_float32},
      NamedType{MPI_2DOUBLE_PRECISION, pair, Type::float64_float64},
  };
  return types;
}

const NamedType* find(MPI_Datatype type) {
  // Fortran's types are null where the host was built without Fortran.
  if (type == MPI_DATATYPE_NULL) return nullptr;
  const auto found = std::ranges::find(named_types(), type, &NamedType::type);
  return found == named_types().end() ? nullptr : &*found;
}

std::optional<Type> integer_of(MPI_Count bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? Type::int8 : Type::uint8;
    case 2:
      return is_signed ? Type::int16 : Type::uint16;
    case 4:
      return is_signed ? Type::int32 : Type::uint32;
    case 8:
      return is_signed ? Type::int64 : Type::uint64;
    default:
      return std::nullopt;
  }
}

// REAL*16 is another format than C's long double, and is not in the list above.
std::optional<Type> floating_of(MPI_Count bytes) {
  if (bytes == 4) return Type::float32;
  if (bytes == 8) return Type::float64;
  if (bytes == sizeof(long double)) return Type::float_extended;
  return std::nullopt;
}

std::optional<Type> complex_of(MPI_Count bytes) {
  if (bytes == 8) return Type::complex64;
  if (bytes == 16) return Type::complex128;
  if (bytes == 2 * sizeof(long double)) return Type::complex_extended;
  return std::nullopt;
}

}  // namespace

std::optional<Operator> operator_of(MPI_Op op) {
  using enum Operator;
  static const std::array operators = {
      NamedOperator{MPI_SUM, sum},
      NamedOperator{MPI_MAX, maximum},
      NamedOperator{MPI_MIN, minimum},
      NamedOperator{MPI_PROD, product},
      NamedOperator{MPI_LAND, logical_and},
      NamedOperator{MPI_LOR, logical_or},
      NamedOperator{MPI_LXOR, logical_xor},
      NamedOperator{MPI_BAND, bitwise_and},
      NamedOperator{MPI_BOR, bitwise_or},
      NamedOperator{MPI_BXOR, bitwise_xor},
      NamedOperator{MPI_MINLOC, minimum_with_place},
      NamedOperator{MPI_MAXLOC, maximum_with_place},
  };
  const auto found = std::ranges::find(operators, op, &NamedOperator::op);
  return found == operators.end() ? std::nullopt : std::optional(found->meaning);
}

bool is_for_reductions(MPI_Datatype type) {
  return find(type) != nullptr;
}

std::optional<Type> element_of(MPI_Datatype type) {
  const NamedType* named = find(type);
  if (named == nullptr) return std::nullopt;
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  switch (named->kind) {
    case Kind::signed_integer:
      return integer_of(bytes, true);
    case Kind::unsigned_integer:
    case Kind::bits:
      return integer_of(bytes, false);
    case Kind::floating:
      return floating_of(bytes);
    case Kind::complex:
      return complex_of(bytes);
    case Kind::pair:
      return named->pair;
  }
  return std::nullopt;
}

}  // namespace weft::mpi
