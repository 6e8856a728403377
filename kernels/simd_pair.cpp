// Vectorized kernels of minimum and maximum with place.
//
// Values and places become integers that compare as they should, each in a lane of its own: the
// lesser value, or else the lesser place, is then two comparisons whatever the types are.
#include "kernels/simd_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_pair.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which sets what it is compiled for.
#include "kernels/simd_strips-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::HWY_NAMESPACE {

namespace {

/// A lane that is the integer.
struct Whole {
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V unpack(D, V v) {
    return v;
  }
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V pack(D, V v) {
    return v;
  }
};

/// An integer in the lower half of a lane, with padding above. It goes to the upper half, where it
/// compares alike, and comes back with zeros above.
struct Lower {
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V unpack(D, V v) {
    return hn::ShiftLeft<sizeof(hn::TFromD<D>) * 4>(v);
  }
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V pack(D d, V v) {
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(d, hn::ShiftRight<sizeof(hn::TFromD<D>) * 4>(hn::BitCast(bits, v)));
  }
};

template <class T>
struct FloatBits;
template <>
struct FloatBits<std::int32_t> {
  static constexpr std::int32_t kMagnitude = 0x7fffffff;
  static constexpr std::int32_t kInfinity = 0x7f800000;
  static constexpr std::int32_t kNan = 0x7fc00000;
};
template <>
struct FloatBits<std::int64_t> {
  static constexpr std::int64_t kMagnitude = 0x7fffffffffffffff;
  static constexpr std::int64_t kInfinity = 0x7ff0000000000000;
  static constexpr std::int64_t kNan = 0x7ff8000000000000;
};

/// A value of floating point: sign and magnitude become an integer, zero whatever the sign of a
/// zero was. NaNs become the one NaN, or its negative, so that they win.
struct FloatValue {
  template <class D, class V>
  static HWY_INLINE V negate_if(V v, V all_bits_if) {
    return hn::Sub(hn::Xor(v, all_bits_if), all_bits_if);
  }
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V unpack(D d, V v) {
    using Bits = FloatBits<hn::TFromD<D>>;
    const V magnitude = hn::And(v, hn::Set(d, Bits::kMagnitude));
    const V number = negate_if<D>(magnitude, hn::BroadcastSignBit(v));
    const V nan = hn::Set(d, kMaximum ? Bits::kNan : -Bits::kNan);
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, Bits::kInfinity)), nan, number);
  }
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V pack(D d, V v) {
    using Bits = FloatBits<hn::TFromD<D>>;
    const V sign = hn::BroadcastSignBit(v);
    const V magnitude = negate_if<D>(v, sign);
    const V number = hn::Or(magnitude, hn::AndNot(hn::Set(d, Bits::kMagnitude), sign));
    if constexpr (kMaximum) {
      return number;  // the NaN is what it should be already
    } else {
      const V nan = hn::Set(d, Bits::kNan);
      return hn::IfThenElse(hn::Eq(magnitude, nan), nan, number);
    }
  }
};

/// A place of floating point, in IEEE 754's totalOrder: all bits but the sign's are inverted in
/// negative ones. The same again takes it back.
struct FloatPlace {
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V unpack(D d, V v) {
    using Bits = FloatBits<hn::TFromD<D>>;
    return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, Bits::kMagnitude)));
  }
  template <bool kMaximum, class D, class V>
  static HWY_INLINE V pack(D d, V v) {
    return unpack<kMaximum>(d, v);
  }
};

/// Both lanes of a pair as signed integers of type T.
template <bool kMaximum, class T, class Value, class Place>
struct PairLanes {
  using Lane = T;
  static constexpr std::size_t kElement_bytes = 2 * sizeof(T);

  template <class D, class V>
  static HWY_INLINE void unpack(D d, V& value, V& place) {
    value = Value::template unpack<kMaximum>(d, value);
    place = Place::template unpack<kMaximum>(d, place);
  }
  template <class D, class V>
  static HWY_INLINE void pack(D d, V& value, V& place) {
    value = Value::template pack<kMaximum>(d, value);
    place = Place::template pack<kMaximum>(d, place);
  }
  template <class D, class V>
  static HWY_INLINE void apply(D, V& value, V& place, V other_value, V other_place) {
    const auto better = kMaximum ? hn::Gt(other_value, value) : hn::Lt(other_value, value);
    const auto before = hn::And(hn::Eq(other_value, value), hn::Lt(other_place, place));
    const auto other = hn::Or(better, before);
    value = hn::IfThenElse(other, other_value, value);
    place = hn::IfThenElse(other, other_place, place);
  }
};

template <class T, class Value, class Place>
Kernel of_pairs(Operator op) {
  if (op == Operator::minimum_with_place) {
    return kernel_of<SimdRule<PairStep<PairLanes<false, T, Value, Place>>>>();
  }
  if (op == Operator::maximum_with_place) {
    return kernel_of<SimdRule<PairStep<PairLanes<true, T, Value, Place>>>>();
  }
  return {};
}

Kernel find_pair(Operator op, Type type) {
  switch (type) {
    case Type::int16_int32:
      return of_pairs<std::int32_t, Lower, Whole>(op);
    case Type::int32_int32:
      return of_pairs<std::int32_t, Whole, Whole>(op);
    case Type::int64_int32:
      return of_pairs<std::int64_t, Whole, Lower>(op);
    case Type::float32_int32:
      return of_pairs<std::int32_t, FloatValue, Whole>(op);
    case Type::float64_int32:
      return of_pairs<std::int64_t, FloatValue, Lower>(op);
    case Type::float32_float32:
      return of_pairs<std::int32_t, FloatValue, FloatPlace>(op);
    case Type::float64_float64:
      return of_pairs<std::int64_t, FloatValue, FloatPlace>(op);
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

Kernel simd_pair_kernel(SimdSet set, Operator op, Type type) noexcept {
  WEFT_FIND_IN(set, find_pair, op, type);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
