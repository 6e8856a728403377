#include "elements.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::test {

namespace {

bool is_order(Operation o) {
  return o == Operation::max || o == Operation::min;
}
bool is_arithmetic(Operation o) {
  return o == Operation::sum || o == Operation::prod;
}
bool is_logical(Operation o) {
  return o >= Operation::land && o <= Operation::lxor;
}
bool is_bitwise(Operation o) {
  return o >= Operation::band && o <= Operation::bxor;
}
bool is_place(Operation o) {
  return o >= Operation::maxloc;
}

bool fits_integer(Operation o) {
  return !is_place(o);
}
bool fits_whole(Operation o) {
  return !is_place(o) && !is_logical(o);
}  // not an integer of C
bool fits_real(Operation o) {
  return is_order(o) || is_arithmetic(o);
}

template <class T>
constexpr bool is_complex = !std::is_arithmetic_v<T>;
template <class T>
constexpr int kSignificant = std::is_same_v<T, long double> ? 10 : static_cast<int>(sizeof(T));

template <class T>
T load(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

/// Sums and products of eight neither overflow nor round.
template <class T>
T small_number(Operation operation, Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr std::array kFactors = {1, -1, 2, -2};
    const int sum = random.below(9) - 4;
    return static_cast<T>(operation == Operation::prod ? kFactors[random.next() % 4] : sum);
  } else {
    if (operation == Operation::sum) return static_cast<T>(random.below(4));
    return static_cast<T>(sizeof(T) == 1 ? random.below(2) : 1 + random.below(3));
  }
}

template <class T>
T number(Operation operation, Random& random) {
  if constexpr (is_complex<T>) {
    using Part = typename T::value_type;
    const Part real = small_number<Part>(operation, random);
    return T(real, small_number<Part>(operation, random));
  } else if constexpr (std::is_floating_point_v<T>) {
    return small_number<T>(operation, random);
  } else {
    if (is_arithmetic(operation)) return small_number<T>(operation, random);
    if (random.one_in(2)) return static_cast<T>(random.below(2));  // ties and zeros
    const T any = static_cast<T>(random.next());
    // MPICH compares unsigned integers as signed ones.
    return std::is_unsigned_v<T> && is_order(operation) ? static_cast<T>(any / 2) : any;
  }
}

template <class T>
T result(Operation operation, T a, T b) {
  if (operation == Operation::sum) return static_cast<T>(a + b);
  if (operation == Operation::prod) return static_cast<T>(a * b);
  if constexpr (!is_complex<T>) {
    if (operation == Operation::max) return std::max(a, b);
    if (operation == Operation::min) return std::min(a, b);
  }
  if constexpr (std::is_integral_v<T>) {
    const bool x = a != 0;
    const bool y = b != 0;
    if (operation == Operation::land) return static_cast<T>(x && y);
    if (operation == Operation::lor) return static_cast<T>(x || y);
    if (operation == Operation::lxor) return static_cast<T>(x != y);
    if (operation == Operation::band) return static_cast<T>(a & b);
    if (operation == Operation::bor) return static_cast<T>(a | b);
    if (operation == Operation::bxor) return static_cast<T>(a ^ b);
  }
  return b;
}

template <class T>
struct Number {
  static void put(Operation operation, Random& random, std::byte* to) {
    store(number<T>(operation, random), to);
  }
  static void combine(Operation operation, const std::byte* first, std::byte* second) {
    store(result(operation, load<T>(first), load<T>(second)), second);
  }
  static void settle(std::byte* at) {
    if constexpr (is_complex<T>) {
      Number<typename T::value_type>::settle(at);
      Number<typename T::value_type>::settle(at + sizeof(T) / 2);
    } else if constexpr (std::is_floating_point_v<T>) {
      const T value = load<T>(at) + T{0};
      std::memset(at, 0, sizeof value);
      std::memcpy(at, &value, kSignificant<T>);
    }
  }
};

/// 0 or 1.
template <class T>
struct Truth : Number<T> {
  static void put(Operation, Random& random, std::byte* to) {
    store(static_cast<T>(random.below(2)), to);
  }
};

/// No negative ones: Open MPI takes these for unsigned.
template <class T>
struct Natural : Number<T> {
  static void put(Operation operation, Random& random, std::byte* to) {
    store(static_cast<T>(number<std::make_unsigned_t<T>>(operation, random)), to);
  }
};

template <class V, class I>
struct Pair {
  struct Both {
    V value;
    I place;
  };
  static constexpr int kAt = offsetof(Both, place);

  static void put(Operation, Random& random, std::byte* to) {
    store(static_cast<V>(random.below(5) - 2), to);
    store(static_cast<I>(random.below(5)), to + kAt);
  }
  static void combine(Operation operation, const std::byte* first, std::byte* second) {
    const V a = load<V>(first);
    const V b = load<V>(second);
    const I place = std::min(load<I>(first + kAt), load<I>(second + kAt));
    if (a == b) return store(place, second + kAt);
    if ((a > b) == (operation == Operation::maxloc)) {
      store(a, second);
      store(load<I>(first + kAt), second + kAt);
    }
  }
  static void settle(std::byte* at) {
    Number<V>::settle(at);
    Number<I>::settle(at + kAt);
  }
};

template <class How, class T>
Element plain(MPI_Datatype type, const char* name, bool (*fits)(Operation)) {
  return {type, name, sizeof(T), 0, 0, fits, How::put, How::combine, How::settle};
}

template <class V, class I>
Element pair(MPI_Datatype type, const char* name) {
  using How = Pair<V, I>;
  return {type,     name,     sizeof(V),    How::kAt,   sizeof(I),
          is_place, How::put, How::combine, How::settle};
}

#define INTEGER(type, T) plain<Number<T>, T>(type, #type, fits_integer)
#define WHOLE(type, T) plain<Number<T>, T>(type, #type, fits_whole)
#define REAL(type, T) plain<Number<T>, T>(type, #type, fits_real)
#define COMPLEX(type, T) plain<Number<std::complex<T>>, std::complex<T>>(type, #type, is_arithmetic)
#define TRUTH(type, T) plain<Truth<T>, T>(type, #type, is_logical)
#define PAIR(type, V, I) pair<V, I>(type, #type)

std::vector<Element> all_elements() {
  return {INTEGER(MPI_SIGNED_CHAR, signed char),
          INTEGER(MPI_SHORT, short),
          INTEGER(MPI_INT, int),
          INTEGER(MPI_LONG, long),
          INTEGER(MPI_LONG_LONG, long long),
          INTEGER(MPI_UNSIGNED_CHAR, unsigned char),
          INTEGER(MPI_UNSIGNED_SHORT, unsigned short),
          INTEGER(MPI_UNSIGNED, unsigned),
          INTEGER(MPI_UNSIGNED_LONG, unsigned long),
          INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long),
          INTEGER(MPI_INT8_T, std::int8_t),
          INTEGER(MPI_INT16_T, std::int16_t),
          INTEGER(MPI_INT32_T, std::int32_t),
          INTEGER(MPI_INT64_T, std::int64_t),
          INTEGER(MPI_UINT8_T, std::uint8_t),
          INTEGER(MPI_UINT16_T, std::uint16_t),
          INTEGER(MPI_UINT32_T, std::uint32_t),
          INTEGER(MPI_UINT64_T, std::uint64_t),
          WHOLE(MPI_AINT, MPI_Aint),
          plain<Natural<MPI_Offset>, MPI_Offset>(MPI_OFFSET, "MPI_OFFSET", fits_whole),
          WHOLE(MPI_COUNT, MPI_Count),
          WHOLE(MPI_INTEGER, int),
          WHOLE(MPI_INTEGER1, std::int8_t),
          WHOLE(MPI_INTEGER2, std::int16_t),
          WHOLE(MPI_INTEGER4, std::int32_t),
          WHOLE(MPI_INTEGER8, std::int64_t),
          plain<Number<unsigned char>, unsigned char>(MPI_BYTE, "MPI_BYTE", is_bitwise),
          TRUTH(MPI_C_BOOL, bool),
          TRUTH(MPI_CXX_BOOL, bool),
          TRUTH(MPI_LOGICAL, int),
          REAL(MPI_FLOAT, float),
          REAL(MPI_DOUBLE, double),
          REAL(MPI_LONG_DOUBLE, long double),
          REAL(MPI_REAL, float),
          REAL(MPI_REAL4, float),
          REAL(MPI_REAL8, double),
          REAL(MPI_DOUBLE_PRECISION, double),
          COMPLEX(MPI_C_FLOAT_COMPLEX, float),
          COMPLEX(MPI_C_DOUBLE_COMPLEX, double),
          COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double),
          COMPLEX(MPI_COMPLEX, float),
          COMPLEX(MPI_COMPLEX8, float),
          COMPLEX(MPI_COMPLEX16, double),
          COMPLEX(MPI_DOUBLE_COMPLEX, double),
          COMPLEX(MPI_CXX_FLOAT_COMPLEX, float),
          COMPLEX(MPI_CXX_DOUBLE_COMPLEX, double),
          COMPLEX(MPI_CXX_LONG_DOUBLE_COMPLEX, long double),
          PAIR(MPI_2INT, int, int),
          PAIR(MPI_FLOAT_INT, float, int),
          PAIR(MPI_DOUBLE_INT, double, int),
          PAIR(MPI_LONG_INT, long, int),
          PAIR(MPI_SHORT_INT, short, int),
          PAIR(MPI_LONG_DOUBLE_INT, long double, int),
          PAIR(MPI_2INTEGER, int, int),
          PAIR(MPI_2REAL, float, float),
          PAIR(MPI_2DOUBLE_PRECISION, double, double)};
}

}  // namespace

MPI_Op handle_of(Operation operation) {
  const std::array<MPI_Op, kOperations> handles = {MPI_SUM,  MPI_PROD, MPI_MAX,    MPI_MIN,
                                                   MPI_LAND, MPI_LOR,  MPI_LXOR,   MPI_BAND,
                                                   MPI_BOR,  MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return handles[static_cast<std::size_t>(operation)];
}

const char* name_of(Operation operation) {
  constexpr std::array<const char*, kOperations> kNames = {"sum",  "prod", "max",    "min",
                                                           "land", "lor",  "lxor",   "band",
                                                           "bor",  "bxor", "maxloc", "minloc"};
  return kNames[static_cast<std::size_t>(operation)];
}

const std::vector<Element>& elements() {
  static const std::vector<Element> list = [] {
    std::vector<Element> found = all_elements();
    std::erase_if(found, [](const Element& each) { return each.type == MPI_DATATYPE_NULL; });
    return found;
  }();
  return list;
}

}  // namespace weft::test
