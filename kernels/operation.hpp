// Operations of reductions on elements. Includes no other header of ours, as it is installed with
// the public API.
#pragma once

#include <cstddef>
#include <cstdint>

// As in error_types.hpp. The two headers lie in one folder when installed and in two in the
// sources, so that no include of one by the other would work in both places.
#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

namespace weft {

/// Type of an element. Pairs are laid out as C lays out a struct of the two, value before index.
enum class Type : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,   ///< IEEE 754 binary16
  bfloat16,  ///< the upper half of a float32
  float32,
  float64,
  float_extended,  ///< C's long double
  complex64,       ///< two float32
  complex128,
  complex_extended,
  int16_int32,  ///< pairs, for minimum_with_place and maximum_with_place
  int32_int32,
  int64_int32,
  float32_int32,
  float64_int32,
  float_extended_int32,
  float32_float32,
  float64_float64,
};

/// How two elements become one: MPI's predefined operations.
enum class Operator : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,  ///< of integers; the result is 0 or 1
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  minimum_with_place,  ///< of pairs; of equal values the one with the least index
  maximum_with_place,
};

/// An operation on elements of one size, associative at least in the sense that MPI asks for. A
/// value; what `context` points to outlives its uses.
struct Operation {
  /// dst[i] = left[i] op right[i], for `elements` elements. `dst` is `left`, or `right`, or apart
  /// from both.
  using Combine = void (*)(const void* context, std::byte* dst, const std::byte* left,
                           const std::byte* right, std::size_t elements);
  /// dst[i] = sources[0][i] op sources[1][i] op ... in one pass, grouped from the left. `dst` is
  /// sources[0] or apart from all. At least one source.
  using Fold = void (*)(const void* context, std::byte* dst, const std::byte* const* sources,
                        std::size_t count, std::size_t elements);

  std::size_t element_bytes = 0;
  bool commutative = true;   ///< a op b is b op a
  bool associative = false;  ///< to the bit: integers, minima; not sums of floating point
  Combine combine = nullptr;
  Fold fold = nullptr;  ///< null: combine does it
  const void* context = nullptr;
  /// The functions are called only while the caller is in a call of weft: what they use is not safe
  /// from many threads. A progress thread leaves such reductions to the caller.
  bool only_in_calls = false;
};

/// The bytes of an element: what C's sizeof says.
WEFT_API std::size_t size_of(Type type);
/// UsageError where MPI defines no such operation on such elements.
WEFT_API Operation operation(Operator op, Type type);

}  // namespace weft
