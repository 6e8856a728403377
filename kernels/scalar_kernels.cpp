#include "kernels/kernel.hpp"

#include <type_traits>

#include "kernels/scalar_elements.hpp"

namespace weft::kernels {

namespace {

template <class Element, class Apply>
struct ScalarRule {
  static constexpr std::size_t kElement_bytes = Element::kElement_bytes;

  template <std::size_t kCount>
  static void strip(std::byte* dst, const std::byte* const* sources, std::size_t count,
                    std::size_t elements) {
    const std::size_t end = kCount > 0 ? kCount : count;
    for (std::size_t at = 0; at < elements * kElement_bytes; at += kElement_bytes) {
      auto result = Element::load(sources[0] + at);
      for (std::size_t i = 1; i < end; ++i) {
        result = Element::round(Apply::apply(result, Element::load(sources[i] + at)));
      }
      Element::store(dst + at, result);
    }
  }
};

// Integers come without sign, and at least as wide as arithmetic is: nothing overflows.
template <class T>
using Wide = std::common_type_t<T, unsigned>;

struct Sum {
  template <class T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wide<T>{a} + Wide<T>{b});
    return a + b;
  }
  template <class T>
  static ComplexValue<T> apply(ComplexValue<T> a, ComplexValue<T> b) noexcept {
    return {a.real + b.real, a.imaginary + b.imaginary};
  }
};

struct Product {
  template <class T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wide<T>{a} * Wide<T>{b});
    return a * b;
  }
  template <class T>
  static ComplexValue<T> apply(ComplexValue<T> a, ComplexValue<T> b) noexcept {
    return {a.real * b.real - a.imaginary * b.imaginary,
            a.real * b.imaginary + a.imaginary * b.real};
  }
};

// A NaN comes out as NaN, for Element::round to make the same of all.
template <bool kMaximum>
struct Extreme {
  template <class T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      if (is_nan(a)) return a;
      if (is_nan(b)) return b;
      if (a == b) return std::signbit(a) == kMaximum ? b : a;
    }
    return (a < b) == kMaximum ? b : a;
  }
};

struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) noexcept {
    return a != 0 && b != 0;
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T a, T b) noexcept {
    return a != 0 || b != 0;
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return (a != 0) != (b != 0);
  }
};

struct BitwiseAnd {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <class T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};

/// Whether place `a` is less than `b`, in an order of all bit patterns.
template <class T>
bool is_before(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    constexpr Bits kMagnitude = std::numeric_limits<Bits>::max();
    const auto bits_a = std::bit_cast<Bits>(a);
    const auto bits_b = std::bit_cast<Bits>(b);
    return (bits_a < 0 ? bits_a ^ kMagnitude : bits_a) <
           (bits_b < 0 ? bits_b ^ kMagnitude : bits_b);
  } else {
    return a < b;
  }
}

template <bool kMaximum>
struct ExtremeWithPlace {
  template <class T, class Place>
  static PairValue<T, Place> apply(PairValue<T, Place> a, PairValue<T, Place> b) noexcept {
    const bool nan_a = is_nan(a.value);
    const bool nan_b = is_nan(b.value);
    if (nan_a != nan_b) return nan_a ? a : b;
    if (!nan_a && a.value != b.value) return (a.value < b.value) == kMaximum ? b : a;
    return is_before(b.place, a.place) ? b : a;
  }
};

template <class Element>
Kernel sum_or_product(Operator op) noexcept {
  if (op == Operator::sum) return kernel_of<ScalarRule<Element, Sum>>();
  if (op == Operator::product) return kernel_of<ScalarRule<Element, Product>>();
  return {};
}

template <class Element>
Kernel extreme(Operator op) noexcept {
  if (op == Operator::minimum) return kernel_of<ScalarRule<Element, Extreme<false>>>();
  if (op == Operator::maximum) return kernel_of<ScalarRule<Element, Extreme<true>>>();
  return {};
}

template <class Element>
Kernel of_floats(Operator op) noexcept {
  const Kernel found = extreme<Element>(op);
  return found.fold ? found : sum_or_product<Element>(op);
}

template <class T>
Kernel of_integers(Operator op) noexcept {
  using Element = Number<std::make_unsigned_t<T>>;
  switch (op) {
    case Operator::minimum:
    case Operator::maximum:
      return extreme<Number<T>>(op);
    case Operator::logical_and:
      return kernel_of<ScalarRule<Element, LogicalAnd>>();
    case Operator::logical_or:
      return kernel_of<ScalarRule<Element, LogicalOr>>();
    case Operator::logical_xor:
      return kernel_of<ScalarRule<Element, LogicalXor>>();
    case Operator::bitwise_and:
      return kernel_of<ScalarRule<Element, BitwiseAnd>>();
    case Operator::bitwise_or:
      return kernel_of<ScalarRule<Element, BitwiseOr>>();
    case Operator::bitwise_xor:
      return kernel_of<ScalarRule<Element, BitwiseXor>>();
    default:
      return sum_or_product<Element>(op);
  }
}

template <class T, class Place>
Kernel of_pairs(Operator op) noexcept {
  using Element = Pair<T, Place>;
  if (op == Operator::minimum_with_place) {
    return kernel_of<ScalarRule<Element, ExtremeWithPlace<false>>>();
  }
  if (op == Operator::maximum_with_place) {
    return kernel_of<ScalarRule<Element, ExtremeWithPlace<true>>>();
  }
  return {};
}

}  // namespace

Kernel scalar_kernel(Operator op, Type type) noexcept {
  switch (type) {
    case Type::int8:
      return of_integers<std::int8_t>(op);
    case Type::int16:
      return of_integers<std::int16_t>(op);
    case Type::int32:
      return of_integers<std::int32_t>(op);
    case Type::int64:
      return of_integers<std::int64_t>(op);
    case Type::uint8:
      return of_integers<std::uint8_t>(op);
    case Type::uint16:
      return of_integers<std::uint16_t>(op);
    case Type::uint32:
      return of_integers<std::uint32_t>(op);
    case Type::uint64:
      return of_integers<std::uint64_t>(op);
    case Type::float16:
      return of_floats<Half<Float16>>(op);
    case Type::bfloat16:
      return of_floats<Half<Bfloat16>>(op);
    case Type::float32:
      return of_floats<Number<float>>(op);
    case Type::float64:
      return of_floats<Number<double>>(op);
    case Type::float_extended:
      return of_floats<Number<long double>>(op);
    case Type::complex64:
      return sum_or_product<Complex<float>>(op);
    case Type::complex128:
      return sum_or_product<Complex<double>>(op);
    case Type::complex_extended:
      return sum_or_product<Complex<long double>>(op);
    case Type::int16_int32:
      return of_pairs<std::int16_t, std::int32_t>(op);
    case Type::int32_int32:
      return of_pairs<std::int32_t, std::int32_t>(op);
    case Type::int64_int32:
      return of_pairs<std::int64_t, std::int32_t>(op);
    case Type::float32_int32:
      return of_pairs<float, std::int32_t>(op);
    case Type::float64_int32:
      return of_pairs<double, std::int32_t>(op);
    case Type::float_extended_int32:
      return of_pairs<long double, std::int32_t>(op);
    case Type::float32_float32:
      return of_pairs<float, float>(op);
    case Type::float64_float64:
      return of_pairs<double, double>(op);
  }
  return {};
}

}  // namespace weft::kernels
