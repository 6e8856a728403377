// Strips of vectors, whole ones and what is left at the end. Compiled once for each instruction
// set, with vectors of any length: those of SVE have none that the compiler knows, so they stand
// in no array and in no struct.
//
// What is left at the end is copied into a buffer of whole vectors, filled up with zeros, and
// takes the way of all others: the tail of a message has the same bits as its middle.
#if defined(WEFT_KERNELS_SIMD_STRIPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_STRIPS_INL
#undef WEFT_KERNELS_SIMD_STRIPS_INL
#else
#define WEFT_KERNELS_SIMD_STRIPS_INL
#endif

#include <cstring>
#include <limits>

#include "kernels/simd_kernels.hpp"
// After it, which says what sets there are.
#include <hwy/highway.h>

// The scalar kernels of our own are for all types, Highway's for some.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace weft::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors lie anywhere, so they are loaded and stored as bytes.
template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D>
HWY_INLINE void store_bytes(D d, hn::Vec<D> vector, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, vector), bytes, reinterpret_cast<std::uint8_t*>(to));
}

/// The one NaN for all. Highway's own NaN() has other bits.
template <class D>
HWY_INLINE hn::Vec<D> canonical(D d, hn::Vec<D> v) {
  constexpr auto kNan = std::numeric_limits<hn::TFromD<D>>::quiet_NaN();
  return hn::IfThenElse(hn::IsNaN(v), hn::Set(d, kNan), v);
}

/// A step of a strip that takes one vector of each source. `Lanes` has load(), store(),
/// apply(), and finish() for what may wait to the last source.
template <class Lanes, class Apply>
struct VectorStep {
  static constexpr std::size_t kElement_bytes = Lanes::kElement_bytes;
  using D = hn::ScalableTag<typename Lanes::Lane>;

  static HWY_INLINE std::size_t bytes() {
    return hn::Lanes(D()) * sizeof(typename Lanes::Lane) / Lanes::kWiden;
  }

  template <std::size_t kCount>
  static HWY_INLINE void run(std::byte* dst, const std::byte* const* sources, std::size_t count,
                             std::size_t at) {
    const D d;
    auto v = Lanes::load(d, sources[0] + at);
    for (std::size_t i = 1; i < (kCount > 0 ? kCount : count); ++i) {
      v = Lanes::template apply<Apply>(d, v, Lanes::load(d, sources[i] + at));
    }
    Lanes::store(d, Lanes::template finish<Apply>(d, v), dst + at);
  }

  /// Four steps at once, so that one need not wait for another.
  template <std::size_t kCount>
  static HWY_INLINE void run4(std::byte* dst, const std::byte* const* sources, std::size_t count,
                              std::size_t at) {
    const D d;
    const std::size_t step = bytes();
    auto v0 = Lanes::load(d, sources[0] + at);
    auto v1 = Lanes::load(d, sources[0] + at + step);
    auto v2 = Lanes::load(d, sources[0] + at + 2 * step);
    auto v3 = Lanes::load(d, sources[0] + at + 3 * step);
    for (std::size_t i = 1; i < (kCount > 0 ? kCount : count); ++i) {
      const std::byte* const from = sources[i] + at;
      v0 = Lanes::template apply<Apply>(d, v0, Lanes::load(d, from));
      v1 = Lanes::template apply<Apply>(d, v1, Lanes::load(d, from + step));
      v2 = Lanes::template apply<Apply>(d, v2, Lanes::load(d, from + 2 * step));
      v3 = Lanes::template apply<Apply>(d, v3, Lanes::load(d, from + 3 * step));
    }
    Lanes::store(d, Lanes::template finish<Apply>(d, v0), dst + at);
    Lanes::store(d, Lanes::template finish<Apply>(d, v1), dst + at + step);
    Lanes::store(d, Lanes::template finish<Apply>(d, v2), dst + at + 2 * step);
    Lanes::store(d, Lanes::template finish<Apply>(d, v3), dst + at + 3 * step);
  }
};

/// A step that takes two vectors of each source, of elements that have two lanes: the first lanes
/// of all come into one vector, the second ones into another, each in the same order, which is
/// nobody's business. `Lanes` has unpack(), pack() and apply().
template <class Lanes>
struct PairStep {
  static constexpr std::size_t kElement_bytes = Lanes::kElement_bytes;
  using D = hn::ScalableTag<typename Lanes::Lane>;
  using V = hn::Vec<D>;

  static HWY_INLINE std::size_t bytes() {
    return 2 * hn::Lanes(D()) * sizeof(typename Lanes::Lane);
  }

  static HWY_INLINE void load(const std::byte* from, V& first, V& second) {
    const D d;
    const V v0 = load_bytes(d, from);
    const V v1 = load_bytes(d, from + bytes() / 2);
    first = hn::OddEven(hn::DupEven(v1), v0);
    second = hn::OddEven(v1, hn::DupOdd(v0));
    Lanes::unpack(d, first, second);
  }

  static HWY_INLINE void store(V first, V second, std::byte* to) {
    const D d;
    Lanes::pack(d, first, second);
    store_bytes(d, hn::OddEven(hn::DupEven(second), first), to);
    store_bytes(d, hn::OddEven(second, hn::DupOdd(first)), to + bytes() / 2);
  }

  template <std::size_t kCount>
  static HWY_INLINE void run(std::byte* dst, const std::byte* const* sources, std::size_t count,
                             std::size_t at) {
    const D d;
    V first;
    V second;
    load(sources[0] + at, first, second);
    for (std::size_t i = 1; i < (kCount > 0 ? kCount : count); ++i) {
      V other_first;
      V other_second;
      load(sources[i] + at, other_first, other_second);
      Lanes::apply(d, first, second, other_first, other_second);
    }
    store(first, second, dst + at);
  }

  template <std::size_t kCount>
  static HWY_INLINE void run4(std::byte* dst, const std::byte* const* sources, std::size_t count,
                              std::size_t at) {
    for (std::size_t i = 0; i < 4; ++i) run<kCount>(dst, sources, count, at + i * bytes());
  }
};

/// What is left of each source after `at`, less than a step.
template <class Step, std::size_t kCount>
HWY_NOINLINE void run_tail(std::byte* dst, const std::byte* const* sources, std::size_t count,
                           std::size_t at, std::size_t rest) {
  // Two vectors at most, and as the first `sources` of a step their sum so far.
  alignas(64) std::byte sum[2 * HWY_MAX_BYTES] = {};
  alignas(64) std::byte next[2 * HWY_MAX_BYTES] = {};
  const std::byte* const both[] = {sum, next};
  std::memcpy(sum, sources[0] + at, rest);
  for (std::size_t i = 1; i < (kCount > 0 ? kCount : count); ++i) {
    std::memcpy(next, sources[i] + at, rest);
    Step::template run<2>(sum, both, 2, 0);
  }
  std::memcpy(dst + at, sum, rest);
}

template <class Step>
struct SimdRule {
  static constexpr std::size_t kElement_bytes = Step::kElement_bytes;

  template <std::size_t kCount>
  static void strip(std::byte* dst, const std::byte* const* sources, std::size_t count,
                    std::size_t elements) {
    const std::size_t bytes = elements * kElement_bytes;
    const std::size_t step = Step::bytes();
    std::size_t at = 0;
    for (; at + 4 * step <= bytes; at += 4 * step) {
      Step::template run4<kCount>(dst, sources, count, at);
    }
    for (; at + step <= bytes; at += step) Step::template run<kCount>(dst, sources, count, at);
    if (at < bytes) run_tail<Step, kCount>(dst, sources, count, at, bytes - at);
  }
};

}  // namespace weft::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET
#endif  // WEFT_KERNELS_SIMD_STRIPS_INL
