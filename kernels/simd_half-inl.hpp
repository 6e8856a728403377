// float16 and bfloat16 in vectors of float32, rounded to nearest even, every NaN to the one.
// Compiled once for each instruction set.
#if defined(WEFT_KERNELS_SIMD_HALF_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_HALF_INL
#undef WEFT_KERNELS_SIMD_HALF_INL
#else
#define WEFT_KERNELS_SIMD_HALF_INL
#endif

#include "kernels/simd_strips-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::HWY_NAMESPACE {

/// Bits of half as many bytes as D's.
template <class D>
using HalfBits = hn::Rebind<std::uint16_t, D>;

struct Bfloat16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<HalfBits<D>> half) {
    const hn::Rebind<std::uint32_t, D> wide;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, half)));
  }

  /// The upper half of each lane is the number, the lower is zero.
  template <class D>
  static HWY_INLINE hn::Vec<D> round(D d, hn::Vec<D> v) {
    const hn::Rebind<std::uint32_t, D> wide;
    const auto bits = hn::BitCast(wide, canonical(d, v));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1));
    const auto up = hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7fff)));
    return hn::BitCast(d, hn::And(up, hn::Set(wide, 0xffff0000U)));
  }

  /// Of what is rounded.
  template <class D>
  static HWY_INLINE hn::Vec<HalfBits<D>> narrow(D d, hn::Vec<D> v) {
    const hn::Rebind<std::uint32_t, D> wide;
    const hn::Rebind<std::int32_t, D> wide_signed;
    const auto bits = hn::ShiftRight<16>(hn::BitCast(wide, hn::Vec<D>(v)));
    (void)d;
    return hn::DemoteTo(HalfBits<D>(), hn::BitCast(wide_signed, bits));
  }
};

struct Float16 {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // The processor's own instructions.
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<HalfBits<D>> half) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
  }

  template <class D>
  static HWY_INLINE hn::Vec<HalfBits<D>> narrow(D d, hn::Vec<D> v) {
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::BitCast(HalfBits<D>(), hn::DemoteTo(half, canonical(d, v)));
  }
#else
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<HalfBits<D>> half) {
    const hn::Rebind<std::int32_t, D> wide;
    const auto bits = hn::PromoteTo(wide, half);
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000)));
    const auto rest = hn::And(bits, hn::Set(wide, 0x7fff));
    // The exponent's bias is 15 here and 127 there. Below the normal numbers it is fixed.
    const auto bias = hn::Set(wide, 112 << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(rest), bias);
    const auto above = hn::Gt(rest, hn::Set(wide, 0x7bff));  // infinity and NaN
    const auto fixed = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, 0x1p-24F));
    const auto result = hn::IfThenElse(hn::Lt(rest, hn::Set(wide, 0x400)), hn::BitCast(wide, fixed),
                                       hn::Add(normal, hn::IfThenElseZero(above, bias)));
    return hn::BitCast(d, hn::Or(sign, result));
  }

  template <class D>
  static HWY_INLINE hn::Vec<HalfBits<D>> narrow(D d, hn::Vec<D> v) {
    const hn::Rebind<std::int32_t, D> wide;
    const auto bits = hn::BitCast(wide, v);
    const auto rest = hn::And(bits, hn::Set(wide, 0x7fffffff));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 0x8000));
    // Not normal there: the sum's last place is that of these numbers, so the processor rounds.
    const auto half_one = hn::Set(d, 0.5F);
    const auto fixed = hn::Sub(hn::BitCast(wide, hn::Add(hn::BitCast(d, rest), half_one)),
                               hn::BitCast(wide, half_one));
    const auto odd = hn::And(hn::ShiftRight<13>(rest), hn::Set(wide, 1));
    const auto up = hn::Add(rest, hn::Add(odd, hn::Set(wide, 0xfff - (112 << 23))));
    const auto normal = hn::Min(hn::ShiftRight<13>(up), hn::Set(wide, 0x7c00));
    const auto number = hn::IfThenElse(hn::Lt(rest, hn::Set(wide, 0x38800000)), fixed, normal);
    const auto is_nan = hn::Gt(rest, hn::Set(wide, 0x7f800000));
    const auto result = hn::IfThenElse(is_nan, hn::Set(wide, 0x7e00), hn::Or(sign, number));
    return hn::DemoteTo(HalfBits<D>(), result);
  }
#endif

  template <class D>
  static HWY_INLINE hn::Vec<D> round(D d, hn::Vec<D> v) {
    return widen(d, narrow(d, v));
  }
};

}  // namespace weft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET
#endif  // WEFT_KERNELS_SIMD_HALF_INL
