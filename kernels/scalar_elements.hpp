// Elements as the scalar kernels see them: how each lies in memory, and the value that operations
// work on.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::kernels {

/// Bytes of a value that say something: long double of x86 has padding behind ten.
template <class T>
constexpr std::size_t kValue_bytes = std::numeric_limits<T>::digits == 64 &&
                                             std::numeric_limits<T>::is_iec559
                                         ? 10
                                         : sizeof(T);

template <class T>
T load_value(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store_value(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, kValue_bytes<T>);
  if constexpr (kValue_bytes<T> < sizeof(T)) {
    std::memset(to + kValue_bytes<T>, 0, sizeof(T) - kValue_bytes<T>);
  }
}

template <class T>
bool is_nan(T value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

/// The one NaN for all.
template <class T>
T canonical(T value) noexcept {
  return is_nan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
struct Number {
  using Value = T;
  static constexpr std::size_t kElement_bytes = sizeof(T);
  static T load(const std::byte* from) noexcept { return load_value<T>(from); }
  static T round(T value) noexcept { return canonical(value); }
  static void store(std::byte* to, T value) noexcept { store_value(to, value); }
};

/// Format has widen() and narrow(), between its bits and float32.
template <class Format>
struct Half {
  using Value = float;
  static constexpr std::size_t kElement_bytes = 2;
  static float load(const std::byte* from) noexcept {
    return Format::widen(load_value<std::uint16_t>(from));
  }
  static float round(float value) noexcept { return Format::widen(Format::narrow(value)); }
  static void store(std::byte* to, float value) noexcept { store_value(to, Format::narrow(value)); }
};

struct Bfloat16 {
  static float widen(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  static std::uint16_t narrow(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(canonical(value));
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

struct Float16 {
  static float widen(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t rest = bits & 0x7fffU;
    // The exponent's bias is 15 here and 127 there. Below the normal numbers it is fixed.
    std::uint32_t wide = (rest << 13) + (112U << 23);
    if (rest >= 0x7c00) wide += 112U << 23;
    if (rest < 0x400) wide = std::bit_cast<std::uint32_t>(static_cast<float>(rest) * 0x1p-24F);
    return std::bit_cast<float>(sign | wide);
  }
  static std::uint16_t narrow(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(canonical(value));
    const std::uint32_t rest = bits & 0x7fffffffU;
    std::uint32_t half = 0;
    if (rest > 0x7f800000U) {
      half = 0x7e00;
    } else if (rest < 0x38800000U) {
      // Not normal there: the sum's last place is that of these numbers, so the processor rounds.
      half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000U;
    } else {
      half = (rest - (112U << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
      if (half > 0x7c00) half = 0x7c00;
    }
    return static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000U));
  }
};

template <class T>
struct ComplexValue {
  T real;
  T imaginary;
};

template <class T>
struct Complex {
  using Value = ComplexValue<T>;
  static constexpr std::size_t kElement_bytes = 2 * sizeof(T);
  static Value load(const std::byte* from) noexcept {
    return {load_value<T>(from), load_value<T>(from + sizeof(T))};
  }
  static Value round(Value value) noexcept {
    return {canonical(value.real), canonical(value.imaginary)};
  }
  static void store(std::byte* to, Value value) noexcept {
    store_value(to, value.real);
    store_value(to + sizeof(T), value.imaginary);
  }
};

template <class T, class Place>
struct PairValue {
  T value;
  Place place;
};

template <class T, class Place>
struct Pair {
  using Value = PairValue<T, Place>;
  static constexpr std::size_t kElement_bytes = sizeof(Value);
  static Value load(const std::byte* from) noexcept {
    return {load_value<T>(from), load_value<Place>(from + offsetof(Value, place))};
  }
  static Value round(Value pair) noexcept {
    if (pair.value == T{}) pair.value = T{};
    pair.value = canonical(pair.value);
    return pair;
  }
  static void store(std::byte* to, Value pair) noexcept {
    std::memset(to, 0, kElement_bytes);
    store_value(to, pair.value);
    store_value(to + offsetof(Value, place), pair.place);
  }
};

}  // namespace weft::kernels
