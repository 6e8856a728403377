// Vectorized kernels of floating point, complex numbers included.
#include "kernels/simd_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which sets what they are compiled for.
#include "kernels/simd_half-inl.hpp"
#include "kernels/simd_strips-inl.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::HWY_NAMESPACE {

namespace {

// kExact: what comes out has come in, or is the one NaN. Else a NaN among the operands is one in
// the result, so making it the one NaN may wait to the last source.
struct Sum {
  static constexpr bool kExact = false;
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Product {
  static constexpr bool kExact = false;
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
};

// Processors agree on the lesser of two numbers but for zeros, where some look at the sign and
// some at the order of operands: either way the two orders together have the sign that is wanted.
// With a NaN they agree on nothing.
template <class D, class V>
HWY_INLINE V unless_nan(D d, V a, V b, V number) {
  constexpr auto kNan = std::numeric_limits<hn::TFromD<D>>::quiet_NaN();
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Set(d, kNan), number);
}

struct Minimum {
  static constexpr bool kExact = true;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return unless_nan(d, a, b, hn::Or(hn::Min(a, b), hn::Min(b, a)));
  }
};

struct Maximum {
  static constexpr bool kExact = true;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return unless_nan(d, a, b, hn::And(hn::Max(a, b), hn::Max(b, a)));
  }
};

/// An element has one lane, or two, one as good as the other.
template <class T, std::size_t kLanes>
struct FloatLanes {
  using Lane = T;
  static constexpr std::size_t kElement_bytes = kLanes * sizeof(T);
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
  static HWY_INLINE hn::Vec<D> finish(D d, hn::Vec<D> v) {
    if constexpr (Apply::kExact) {
      return v;
    } else {
      return canonical(d, v);
    }
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to) {
    store_bytes(d, v, to);
  }
};

template <class Format>
struct HalfLanes {
  using Lane = float;
  static constexpr std::size_t kElement_bytes = 2;
  static constexpr std::size_t kWiden = 2;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
    return Format::widen(d, load_bytes(hn::Rebind<std::uint16_t, D>(), from));
  }
  template <class Apply, class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (Apply::kExact) {
      return Apply::apply(d, a, b);
    } else {
      return Format::round(d, Apply::apply(d, a, b));
    }
  }
  template <class Apply, class D>
  static HWY_INLINE hn::Vec<D> finish(D, hn::Vec<D> v) {
    return v;
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to) {
    store_bytes(hn::Rebind<std::uint16_t, D>(), Format::narrow(d, v), to);
  }
};

/// The real parts in one vector, the imaginary ones in another.
template <class T>
struct ComplexProduct {
  using Lane = T;
  static constexpr std::size_t kElement_bytes = 2 * sizeof(T);

  template <class D, class V>
  static HWY_INLINE void unpack(D, V&, V&) {}
  template <class D, class V>
  static HWY_INLINE void pack(D d, V& real, V& imaginary) {
    real = canonical(d, real);
    imaginary = canonical(d, imaginary);
  }
  template <class D, class V>
  static HWY_INLINE void apply(D, V& real, V& imaginary, V other_real, V other_imaginary) {
    const V a = real;
    const V b = imaginary;
    real = hn::Sub(hn::Mul(a, other_real), hn::Mul(b, other_imaginary));
    imaginary = hn::Add(hn::Mul(a, other_imaginary), hn::Mul(b, other_real));
  }
};

template <class Lanes>
Kernel of_floats(Operator op) {
  switch (op) {
    case Operator::sum:
      return kernel_of<SimdRule<VectorStep<Lanes, Sum>>>();
    case Operator::product:
      return kernel_of<SimdRule<VectorStep<Lanes, Product>>>();
    case Operator::minimum:
      return kernel_of<SimdRule<VectorStep<Lanes, Minimum>>>();
    case Operator::maximum:
      return kernel_of<SimdRule<VectorStep<Lanes, Maximum>>>();
    default:
      return {};
  }
}

template <class T>
Kernel of_complex(Operator op) {
  if (op == Operator::sum) return kernel_of<SimdRule<VectorStep<FloatLanes<T, 2>, Sum>>>();
  if (op == Operator::product) return kernel_of<SimdRule<PairStep<ComplexProduct<T>>>>();
  return {};
}

Kernel find_float(Operator op, Type type) {
  switch (type) {
    case Type::float16:
      return of_floats<HalfLanes<Float16>>(op);
    case Type::bfloat16:
      return of_floats<HalfLanes<Bfloat16>>(op);
    case Type::float32:
      return of_floats<FloatLanes<float, 1>>(op);
    case Type::float64:
      return of_floats<FloatLanes<double, 1>>(op);
    case Type::complex64:
      return of_complex<float>(op);
    case Type::complex128:
      return of_complex<double>(op);
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

Kernel simd_float_kernel(SimdSet set, Operator op, Type type) noexcept {
  WEFT_FIND_IN(set, find_float, op, type);
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
