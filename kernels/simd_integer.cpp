// Vectorized kernels of integers.
#include "kernels/simd_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_integer.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which sets what it is compiled for.
#include "kernels/simd_strips-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::HWY_NAMESPACE {

namespace {

template <class T>
struct IntegerLanes {
  using Lane = T;
  static constexpr std::size_t kElement_bytes = sizeof(T);
  static constexpr std::size_t kWiden = 1;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
    return load_bytes(d, from);
  }
  template <class Apply, class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    return Apply::apply(d, a, b);
  }
  template <class Apply, class D>
  static HWY_INLINE hn::Vec<D> finish(D, hn::Vec<D> v) {
    return v;
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to) {
    store_bytes(d, v, to);
  }
};

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Product {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      // Bytes are multiplied two and two, as processors do not multiply them.
      const hn::Repartition<std::uint16_t, D> wide;
      const auto wide_a = hn::BitCast(wide, a);
      const auto wide_b = hn::BitCast(wide, b);
      const auto even = hn::Mul(wide_a, wide_b);
      const auto odd = hn::Mul(hn::ShiftRight<8>(wide_a), hn::ShiftRight<8>(wide_b));
      return hn::OddEven(hn::BitCast(d, hn::ShiftLeft<8>(odd)), hn::BitCast(d, even));
    } else {
      return hn::Mul(a, b);
    }
  }
};

struct Minimum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};

struct Maximum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};

/// All bits where a lane is zero.
template <class D, class V>
HWY_INLINE V zeros(D d, V v) {
  return hn::VecFromMask(d, hn::Eq(v, hn::Zero(d)));
}

struct LogicalAnd {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return hn::AndNot(hn::Or(zeros(d, a), zeros(d, b)), hn::Set(d, 1));
  }
};

struct LogicalOr {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return hn::AndNot(zeros(d, hn::Or(a, b)), hn::Set(d, 1));
  }
};

struct LogicalXor {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return hn::And(hn::Xor(zeros(d, a), zeros(d, b)), hn::Set(d, 1));
  }
};

struct BitwiseAnd {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};

struct BitwiseOr {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};

struct BitwiseXor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

template <class T, class Apply>
Kernel kernel() {
  return kernel_of<SimdRule<VectorStep<IntegerLanes<T>, Apply>>>();
}

/// Wherever the sign makes no difference.
template <class T>
Kernel without_sign(Operator op) {
  switch (op) {
    case Operator::sum:
      return kernel<T, Sum>();
    case Operator::product:
      return kernel<T, Product>();
    case Operator::logical_and:
      return kernel<T, LogicalAnd>();
    case Operator::logical_or:
      return kernel<T, LogicalOr>();
    case Operator::logical_xor:
      return kernel<T, LogicalXor>();
    case Operator::bitwise_and:
      return kernel<T, BitwiseAnd>();
    case Operator::bitwise_or:
      return kernel<T, BitwiseOr>();
    case Operator::bitwise_xor:
      return kernel<T, BitwiseXor>();
    default:
      return {};
  }
}

template <class T>
Kernel of_integers(Operator op) {
  if (op == Operator::minimum) return kernel<T, Minimum>();
  if (op == Operator::maximum) return kernel<T, Maximum>();
  return without_sign<hwy::MakeUnsigned<T>>(op);
}

Kernel find_integer(Operator op, Type type) {
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
    default:
      return {};
  }
}

}  // namespace

}  // namespace weft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET

#if HWY_ONCE
namespace weft::kernels {

Kernel simd_integer_kernel(SimdSet set, Operator op, Type type) noexcept {
  WEFT_FIND_IN(set, find_integer, op, type);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
