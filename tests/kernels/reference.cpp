#include "reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace weft::test {

namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  // An x87 number is ten bytes of sixteen.
  if (std::is_same_v<T, long double> && std::numeric_limits<T>::digits == 64) {
    std::memset(to + 10, 0, sizeof value - 10);
  }
}

/// Format of a short float: bits of the exponent and of the fraction.
struct Format {
  int exponent;
  int fraction;
  int bias() const { return (1 << (exponent - 1)) - 1; }
};
constexpr Format kFloat16{5, 10};
constexpr Format kBfloat16{8, 7};

double decode(Format format, std::uint16_t bits) {
  const int exponent = bits >> format.fraction & ((1 << format.exponent) - 1);
  const int fraction = bits & ((1 << format.fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << format.exponent) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int implied = exponent == 0 ? 0 : 1 << format.fraction;
  const int scale = std::max(exponent, 1) - format.bias() - format.fraction;
  return sign * std::ldexp(implied + fraction, scale);
}

std::uint16_t encode(Format format, double value) {
  const int top = ((1 << format.exponent) - 1) << format.fraction;
  if (std::isnan(value)) return static_cast<std::uint16_t>(top | 1 << (format.fraction - 1));
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isinf(size)) return static_cast<std::uint16_t>(sign | top);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  // In units of the last place, of which the exponent has a least one.
  const int exponent = std::max(std::ilogb(size), 1 - format.bias());
  const auto units =
      static_cast<long>(std::nearbyint(std::ldexp(size, format.fraction - exponent)));
  // The implied one, if there is one, carries into the exponent as it should.
  const long bits = units + (static_cast<long>(exponent + format.bias() - 1) << format.fraction);
  return static_cast<std::uint16_t>(sign | std::min<long>(bits, top));
}

template <class T>
T one_nan(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T of_floats(Operator op, T a, T b) {
  if (op == Operator::sum) return one_nan(a + b);
  if (op == Operator::product) return one_nan(a * b);
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  const bool b_is_more = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  if (op == Operator::minimum) return b_is_more ? a : b;
  if (op == Operator::maximum) return b_is_more ? b : a;
  throw std::logic_error("no such operation");
}

template <class T>
T of_integers(Operator op, T a, T b) {
  using Wide = unsigned __int128;
  switch (op) {
    case Operator::sum:
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case Operator::product:
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case Operator::minimum:
      return a < b ? a : b;
    case Operator::maximum:
      return a < b ? b : a;
    case Operator::logical_and:
      return a ? (b ? 1 : 0) : 0;
    case Operator::logical_or:
      return a ? 1 : b ? 1 : 0;
    case Operator::logical_xor:
      return (a ? 1 : 0) ^ (b ? 1 : 0);
    case Operator::bitwise_and:
      return static_cast<T>(a & b);
    case Operator::bitwise_or:
      return static_cast<T>(a | b);
    case Operator::bitwise_xor:
      return static_cast<T>(a ^ b);
    default:
      throw std::logic_error("no such operation");
  }
}

/// Less than zero, zero or more, as a is before, at or behind b.
template <class T>
int order(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// IEEE 754's totalOrder: the sign decides, then the bits below it.
template <class T>
int total_order(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    if (std::signbit(a) != std::signbit(b)) return std::signbit(a) ? -1 : 1;
    const int less = std::signbit(a) ? 1 : -1;
    const auto size_a = std::bit_cast<Bits>(a) << 1;
    const auto size_b = std::bit_cast<Bits>(b) << 1;
    return size_a == size_b ? 0 : size_a < size_b ? less : -less;
  } else {
    return order(a, b);
  }
}

template <class T, class Place>
struct PairOf {
  T value;
  Place place;
};

template <class T, class Place>
void of_pairs(Operator op, std::byte* result, const std::byte* left, const std::byte* right) {
  using Pair = PairOf<T, Place>;
  const T a = read<T>(left);
  const T b = read<T>(right);
  const auto place_a = read<Place>(left + offsetof(Pair, place));
  const auto place_b = read<Place>(right + offsetof(Pair, place));
  int ahead = op == Operator::minimum_with_place ? order(a, b) : order(b, a);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) ahead = int{std::isnan(b)} - int{std::isnan(a)};
  }
  if (ahead == 0) ahead = total_order(place_a, place_b);
  T value = ahead < 0 ? a : b;
  if constexpr (std::is_floating_point_v<T>) value = value == 0 ? T{0} : one_nan(value);
  std::memset(result, 0, sizeof(Pair));
  write(result, value);
  write(result + offsetof(Pair, place), ahead < 0 ? place_a : place_b);
}

template <class T>
void of_complex(Operator op, std::byte* result, const std::byte* left, const std::byte* right) {
  const T a = read<T>(left);
  const T b = read<T>(left + sizeof(T));
  const T c = read<T>(right);
  const T d = read<T>(right + sizeof(T));
  // Each product in a statement of its own: none is fused with a sum.
  const T ac = a * c;
  const T bd = b * d;
  const T ad = a * d;
  const T bc = b * c;
  const bool sum = op == Operator::sum;
  write(result, one_nan(sum ? a + c : ac - bd));
  write(result + sizeof(T), one_nan(sum ? b + d : ad + bc));
}

void of_halves(Format format, Operator op, std::byte* result, const std::byte* left,
               const std::byte* right) {
  const auto a = static_cast<float>(decode(format, read<std::uint16_t>(left)));
  const auto b = static_cast<float>(decode(format, read<std::uint16_t>(right)));
  write(result, encode(format, of_floats<float>(op, a, b)));
}

template <class T>
void of_numbers(Operator op, std::byte* result, const std::byte* left, const std::byte* right) {
  if constexpr (std::is_floating_point_v<T>) {
    write(result, of_floats(op, read<T>(left), read<T>(right)));
  } else {
    write(result, of_integers(op, read<T>(left), read<T>(right)));
  }
}

/// What a type is made of.
enum class Kind { integer, floating, complex, pair };

using Reduce = void (*)(Operator, std::byte*, const std::byte*, const std::byte*);
/// One number of the type's, or of one part of it.
using Fill = void (*)(Random&, std::byte*);

struct Row {
  Type type;
  Kind kind;
  std::size_t bytes;
  Reduce reduce;
  Fill first;
  Fill second = nullptr;  // of the second part
  std::size_t offset = 0;
};

int below(Random& random, int end) {
  return static_cast<int>(random() % end);
}

template <class T>
T some_bits(Random& random) {
  const std::uint64_t bits = random();
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
void fill_integer(Random& random, std::byte* to) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0, 1, static_cast<T>(-1), Limits::min(), Limits::max()};
  switch (below(random, 3)) {
    case 0:
      return write(to, some_bits<T>(random));
    case 1:
      return write(to, static_cast<T>(below(random, 7) - 3));
    default:
      return write(to, special[below(random, std::size(special))]);
  }
}

template <class T>
void fill_float(Random& random, std::byte* to) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::max(),
                       Limits::min(),
                       Limits::denorm_min(),
                       Limits::min() / 4,
                       T{1} + Limits::epsilon(),
                       std::nextafter(T{1}, T{0})};
  T value = 0;
  switch (below(random, 3)) {
    case 0:
      if constexpr (sizeof(T) <= 8) {
        value = some_bits<T>(random);  // NaNs of all kinds too
      } else {
        value = std::ldexp(static_cast<T>(some_bits<std::int64_t>(random)),
                           below(random, 32000) - 16000);
      }
      break;
    case 1:
      value = static_cast<T>(below(random, 64)) / 8;
      break;
    default:
      value = special[below(random, std::size(special))];
  }
  write(to, random() % 2 == 0 ? value : -value);
}

void fill_bits(Random& random, std::byte* to) {
  write(to, some_bits<std::uint16_t>(random));
}

/// As often close to one another as anywhere, so that sums are between neighbours.
void fill_half(Random& random, std::byte* to) {
  const std::uint16_t near = some_bits<std::uint16_t>(random) & 0x83ff;
  random() % 2 == 0 ? fill_bits(random, to) : write<std::uint16_t>(to, near | 0x3c00);
}

template <class T>
constexpr Row integer(Type type) {
  return {type, Kind::integer, sizeof(T), of_numbers<T>, fill_integer<T>};
}

template <class T>
constexpr Row floating(Type type) {
  return {type, Kind::floating, sizeof(T), of_numbers<T>, fill_float<T>};
}

template <class T>
constexpr Row complex(Type type) {
  return {type,          Kind::complex, 2 * sizeof(T), of_complex<T>,
          fill_float<T>, fill_float<T>, sizeof(T)};
}

template <class T>
constexpr Fill fill_of() {
  if constexpr (std::is_floating_point_v<T>) {
    return fill_float<T>;
  } else {
    return fill_integer<T>;
  }
}

template <class T, class Place>
constexpr Row pair(Type type) {
  using Pair = PairOf<T, Place>;
  return {type,         Kind::pair,       sizeof(Pair),         of_pairs<T, Place>,
          fill_of<T>(), fill_of<Place>(), offsetof(Pair, place)};
}

const Row kRows[] = {
    integer<std::int8_t>(Type::int8),
    integer<std::int16_t>(Type::int16),
    integer<std::int32_t>(Type::int32),
    integer<std::int64_t>(Type::int64),
    integer<std::uint8_t>(Type::uint8),
    integer<std::uint16_t>(Type::uint16),
    integer<std::uint32_t>(Type::uint32),
    integer<std::uint64_t>(Type::uint64),
    {Type::float16, Kind::floating, 2, [](auto... all) { of_halves(kFloat16, all...); }, fill_half},
    {Type::bfloat16, Kind::floating, 2, [](auto... all) { of_halves(kBfloat16, all...); },
     fill_half},
    floating<float>(Type::float32),
    floating<double>(Type::float64),
    floating<long double>(Type::float_extended),
    complex<float>(Type::complex64),
    complex<double>(Type::complex128),
    complex<long double>(Type::complex_extended),
    pair<std::int16_t, std::int32_t>(Type::int16_int32),
    pair<std::int32_t, std::int32_t>(Type::int32_int32),
    pair<std::int64_t, std::int32_t>(Type::int64_int32),
    pair<float, std::int32_t>(Type::float32_int32),
    pair<double, std::int32_t>(Type::float64_int32),
    pair<long double, std::int32_t>(Type::float_extended_int32),
    pair<float, float>(Type::float32_float32),
    pair<double, double>(Type::float64_float64),
};

const Row& row_of(Type type) {
  for (const Row& row : kRows) {
    if (row.type == type) return row;
  }
  throw std::logic_error("no such type");
}

}  // namespace

std::vector<Type> all_types() {
  std::vector<Type> types;
  for (const Row& row : kRows) types.push_back(row.type);
  return types;
}

std::size_t bytes_of(Type type) {
  return row_of(type).bytes;
}

bool is_defined(Operator op, Type type) {
  const Kind kind = row_of(type).kind;
  switch (op) {
    case Operator::sum:
    case Operator::product:
      return kind != Kind::pair;
    case Operator::minimum:
    case Operator::maximum:
      return kind == Kind::integer || kind == Kind::floating;
    case Operator::minimum_with_place:
    case Operator::maximum_with_place:
      return kind == Kind::pair;
    default:
      return kind == Kind::integer;
  }
}

void reference(Operator op, Type type, std::byte* result, const std::byte* left,
               const std::byte* right) {
  row_of(type).reduce(op, result, left, right);
}

std::vector<std::byte> some_elements(Random& random, Type type, std::size_t count) {
  const Row& row = row_of(type);
  std::vector<std::byte> elements(count * row.bytes);
  // Padding holds anything.
  for (std::byte& each : elements) each = static_cast<std::byte>(random());
  for (std::size_t at = 0; at < elements.size(); at += row.bytes) {
    row.first(random, elements.data() + at);
    if (row.second) row.second(random, elements.data() + at + row.offset);
  }
  return elements;
}

}  // namespace weft::test
