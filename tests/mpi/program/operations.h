/* Operations on datatypes for the tests of random reductions: predefined ones, with values whose
 * results are exact in any order, and some that programs define. */
#ifndef WEFT_TESTS_MPI_OPERATIONS_H
#define WEFT_TESTS_MPI_OPERATIONS_H

#include <stddef.h>

#include "tests/mpi/program/random_calls.h"

typedef enum {
  kInteger,
  kWhole, /* an integer type that is not C's: no logical operations */
  kBits,
  kLetter, /* a character: MPI defines no operations on these */
  kTruth,  /* 0 or 1 */
  kFloat,
  kDouble,
  kLongDouble,
  kFloatComplex,
  kDoubleComplex,
  kLongDoubleComplex,
  kPair /* a value and an index, of MPI_MINLOC and MPI_MAXLOC */
} Nature;

typedef struct {
  MPI_Datatype type;
  const char* name;
  Nature nature, value; /* value: of pairs; kInteger for int indices */
  int value_bytes, place_at;
} Element;

#define PLAIN(type, nature) \
  { type, #type, nature, nature, 0, 0 }
#define PAIR(type, nature, c_type)                   \
  {                                                  \
    type, #type, kPair, nature, (int)sizeof(c_type), \
        (int)offsetof(                               \
            struct {                                 \
              c_type a;                              \
              int b;                                 \
            },                                       \
            b)                                       \
  }

static inline const Element* elements(int* count) {
  static Element list[64];
  static int filled = 0;
  if (filled == 0) {
    const Element all[] = {
        PLAIN(MPI_SIGNED_CHAR, kInteger),
        PLAIN(MPI_SHORT, kInteger),
        PLAIN(MPI_INT, kInteger),
        PLAIN(MPI_LONG, kInteger),
        PLAIN(MPI_LONG_LONG, kInteger),
        PLAIN(MPI_UNSIGNED_CHAR, kInteger),
        PLAIN(MPI_UNSIGNED_SHORT, kInteger),
        PLAIN(MPI_UNSIGNED, kInteger),
        PLAIN(MPI_UNSIGNED_LONG, kInteger),
        PLAIN(MPI_UNSIGNED_LONG_LONG, kInteger),
        PLAIN(MPI_INT8_T, kInteger),
        PLAIN(MPI_INT16_T, kInteger),
        PLAIN(MPI_INT32_T, kInteger),
        PLAIN(MPI_INT64_T, kInteger),
        PLAIN(MPI_UINT8_T, kInteger),
        PLAIN(MPI_UINT16_T, kInteger),
        PLAIN(MPI_UINT32_T, kInteger),
        PLAIN(MPI_UINT64_T, kInteger),
        PLAIN(MPI_AINT, kWhole),
        PLAIN(MPI_OFFSET, kWhole),
        PLAIN(MPI_COUNT, kWhole),
        PLAIN(MPI_INTEGER, kWhole),
        PLAIN(MPI_INTEGER1, kWhole),
        PLAIN(MPI_INTEGER2, kWhole),
        PLAIN(MPI_INTEGER4, kWhole),
        PLAIN(MPI_INTEGER8, kWhole),
        PLAIN(MPI_CHAR, kLetter),
        PLAIN(MPI_CHARACTER, kLetter),
        PLAIN(MPI_BYTE, kBits),
        PLAIN(MPI_C_BOOL, kTruth),
        PLAIN(MPI_CXX_BOOL, kTruth),
        PLAIN(MPI_LOGICAL, kTruth),
        PLAIN(MPI_FLOAT, kFloat),
        PLAIN(MPI_DOUBLE, kDouble),
        PLAIN(MPI_LONG_DOUBLE, kLongDouble),
        PLAIN(MPI_REAL, kFloat),
        PLAIN(MPI_REAL4, kFloat),
        PLAIN(MPI_REAL8, kDouble),
        PLAIN(MPI_DOUBLE_PRECISION, kDouble),
        PLAIN(MPI_C_COMPLEX, kFloatComplex),
        PLAIN(MPI_C_DOUBLE_COMPLEX, kDoubleComplex),
        PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, kLongDoubleComplex),
        PLAIN(MPI_COMPLEX, kFloatComplex),
        PLAIN(MPI_COMPLEX8, kFloatComplex),
        PLAIN(MPI_COMPLEX16, kDoubleComplex),
        PLAIN(MPI_DOUBLE_COMPLEX, kDoubleComplex),
        PLAIN(MPI_CXX_FLOAT_COMPLEX, kFloatComplex),
        PLAIN(MPI_CXX_DOUBLE_COMPLEX, kDoubleComplex),
        PLAIN(MPI_CXX_LONG_DOUBLE_COMPLEX, kLongDoubleComplex),
        PAIR(MPI_2INT, kInteger, int),
        PAIR(MPI_FLOAT_INT, kFloat, float),
        PAIR(MPI_DOUBLE_INT, kDouble, double),
        PAIR(MPI_LONG_INT, kInteger, long),
        PAIR(MPI_SHORT_INT, kInteger, short),
        PAIR(MPI_LONG_DOUBLE_INT, kLongDouble, long double),
        PAIR(MPI_2INTEGER, kInteger, int),
        {MPI_2REAL, "MPI_2REAL", kPair, kFloat, 4, 4},
        {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", kPair, kDouble, 8, 8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
      if (all[i].type != MPI_DATATYPE_NULL) list[filled++] = all[i];
    }
  }
  *count = filled;
  return list;
}

typedef struct {
  MPI_Op op;
  const char* name;
} Named;

/* Whether MPI defines the operation for such elements. */
static inline int fit(MPI_Op op, Nature nature) {
  const int order = op == MPI_MAX || op == MPI_MIN;
  const int arithmetic = op == MPI_SUM || op == MPI_PROD;
  const int logical = op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR;
  const int bitwise = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR;
  const int place = op == MPI_MAXLOC || op == MPI_MINLOC;
  switch (nature) {
    case kInteger:
      return !place;
    case kWhole:
      return order || arithmetic || bitwise;
    case kBits:
      return bitwise;
    case kLetter:
      return order;
    case kTruth:
      return logical;
    case kFloat:
    case kDouble:
    case kLongDouble:
      return order || arithmetic;
    case kPair:
      return place;
    default:
      return arithmetic;
  }
}

#define NAMED(op) \
  { op, #op }

static inline const Named* predefined(int* count) {
  static Named list[12];
  const Named all[] = {NAMED(MPI_SUM),  NAMED(MPI_PROD), NAMED(MPI_MAX),    NAMED(MPI_MIN),
                       NAMED(MPI_LAND), NAMED(MPI_LOR),  NAMED(MPI_LXOR),   NAMED(MPI_BAND),
                       NAMED(MPI_BOR),  NAMED(MPI_BXOR), NAMED(MPI_MAXLOC), NAMED(MPI_MINLOC)};
  memcpy(list, all, sizeof all);
  *count = (int)(sizeof all / sizeof *all);
  return list;
}

/* Small whole numbers have exact sums; powers of two and their negatives have exact products. */
static inline void put_number(Nature nature, int product, void* to, uint64_t* random) {
  static const int factors[] = {1, -1, 2, -2};
  const int number = product ? factors[below(random, 4)] : below(random, 9) - 4;
  const float single = (float)number;
  const double real = number;
  const long double extended = number;
  if (nature == kFloat || nature == kFloatComplex) memcpy(to, &single, sizeof single);
  if (nature == kDouble || nature == kDoubleComplex) memcpy(to, &real, sizeof real);
  if (nature == kLongDouble || nature == kLongDoubleComplex) memcpy(to, &extended, 10);
}

/* Integers of which sums and products of eight do not overflow: MPI leaves overflow undefined, and
 * Open MPI's result depends on the grouping. */
static inline void put_small(int bytes, int product, unsigned char* to, uint64_t* random) {
  memset(to, 0, (size_t)bytes);
  const int ways = product ? bytes == 1 ? 2 : 3 : 4;
  to[0] = (unsigned char)(below(random, ways) + (product && bytes > 1));
}

static inline void put_value(Nature nature, int bytes, int product, unsigned char* to,
                             uint64_t* random) {
  switch (nature) {
    case kTruth:
      memset(to, 0, (size_t)bytes);
      to[0] = (unsigned char)below(random, 2);
      break;
    case kInteger:
    case kWhole: /* few values, so that ties and zeros occur */
      for (int i = 0; i < bytes; ++i) to[i] = (unsigned char)next_random(random);
      if (below(random, 2)) memset(to, 0, (size_t)bytes), to[0] = (unsigned char)below(random, 2);
      break;
    case kFloatComplex:
    case kDoubleComplex:
    case kLongDoubleComplex:
      put_number(nature, product, to, random);
      put_number(nature, product, to + bytes / 2, random);
      break;
    case kFloat:
    case kDouble:
    case kLongDouble:
      put_number(nature, product, to, random);
      break;
    default:
      for (int i = 0; i < bytes; ++i) to[i] = (unsigned char)next_random(random);
  }
}

static inline void put_pair(const Element* element, unsigned char* to, uint64_t* random) {
  /* Fortran's pairs are two numbers of the same type. */
  const int numbers = element->type == MPI_2REAL || element->type == MPI_2DOUBLE_PRECISION;
  const int place = below(random, 5);
  put_value(element->value, element->value_bytes, 0, to, random);
  if (numbers) {
    put_value(element->value, element->value_bytes, 0, to + element->place_at, random);
  } else {
    memcpy(to + element->place_at, &place, sizeof place);
  }
}

/* Fills elements with values valid for `op`. Gaps are left as they are. */
static inline void put_elements(const Element* element, MPI_Op op, int count, unsigned char* to,
                                uint64_t* random) {
  MPI_Aint low = 0, extent = 0;
  const int product = op == MPI_PROD;
  MPI_Type_get_extent(element->type, &low, &extent);
  for (int i = 0; i < count; ++i, to += extent) {
    const int adds_up = op == MPI_SUM || product;
    if (adds_up && (element->nature == kInteger || element->nature == kWhole)) {
      put_small((int)extent, product, to, random);
    } else if (element->nature != kPair) {
      put_value(element->nature, (int)extent, product, to, random);
      /* MPICH compares unsigned integers as signed ones. */
      if (strncmp(element->name, "MPI_U", 5) == 0) to[extent - 1] &= 0x7f;
    } else {
      put_pair(element, to, random);
    }
  }
}
static inline void settle_number(Nature nature, unsigned char* at) {
  float single;
  double real;
  long double extended;
  switch (nature) {
    case kFloat:
    case kFloatComplex:
      memcpy(&single, at, sizeof single);
      single += 0.0F;
      memcpy(at, &single, sizeof single);
      break;
    case kDouble:
    case kDoubleComplex:
      memcpy(&real, at, sizeof real);
      real += 0.0;
      memcpy(at, &real, sizeof real);
      break;
    default: /* long double: ten bytes of sixteen are significant */
      memcpy(&extended, at, sizeof extended);
      extended += 0.0L;
      memset(at, 0, sizeof extended);
      memcpy(at, &extended, 10);
  }
}

/* Makes equal values equal bytes: no negative zero, zeroed padding. */
static inline void settle(const Element* element, int count, unsigned char* at) {
  MPI_Aint low = 0, extent = 0;
  const Nature nature = element->nature == kPair ? element->value : element->nature;
  MPI_Type_get_extent(element->type, &low, &extent);
  if (nature < kFloat) return;
  for (int i = 0; i < count; ++i, at += extent) {
    settle_number(nature, at);
    if (element->nature != kPair && nature >= kFloatComplex) settle_number(nature, at + extent / 2);
  }
}

/* A user-defined operation on elements of six ints in any layout: composition of three maps
 * x -> a x + b modulo a prime, which is associative and not commutative. */
enum { kPrime = 46337 };
static MPI_Datatype expected_type = MPI_DATATYPE_NULL;

static inline void read_ints(const void* from, int count, MPI_Datatype type, int* ints) {
  int position = 0;
  MPI_Pack(from, count, type, ints, count * kInts * (int)sizeof(int), &position, MPI_COMM_SELF);
}

static inline void write_ints(const int* ints, int count, MPI_Datatype type, void* to) {
  int position = 0;
  MPI_Unpack(ints, count * kInts * (int)sizeof(int), &position, to, count, type, MPI_COMM_SELF);
}

static inline int wrapped(long long value) {
  return (int)(((value % kPrime) + kPrime) % kPrime);
}

static inline void chain_ints(const int* first, int* second, int count) {
  for (int i = 0; i < count * kInts; i += 2) {
    const long long a = second[i], b = second[i + 1];
    second[i] = wrapped(a * first[i]);
    second[i + 1] = wrapped(a * first[i + 1] + b);
  }
}

static inline void chain(void* in, void* inout, int* count, MPI_Datatype* type) {
  const size_t bytes = (size_t)*count * kInts * sizeof(int) + 1;
  int *first = malloc(bytes), *second = malloc(bytes);
  expect(*type == expected_type, "an operation sees another datatype than the call's");
  read_ints(in, *count, *type, first);
  read_ints(inout, *count, *type, second);
  chain_ints(first, second, *count);
  write_ints(second, *count, *type, inout);
  free(first);
  free(second);
}

/* The same for datatypes without gaps, on which the function may work in memory. */
static inline void chain_plain(void* in, void* inout, int* count, MPI_Datatype* type) {
  expect(*type == expected_type, "an operation sees another datatype than the call's");
  chain_ints(in, inout, *count);
}

/* Commutative: the maximum of each int. */
static inline void larger(void* in, void* inout, int* count, MPI_Datatype* type) {
  const size_t bytes = (size_t)*count * kInts * sizeof(int) + 1;
  int *first = malloc(bytes), *second = malloc(bytes);
  read_ints(in, *count, *type, first);
  read_ints(inout, *count, *type, second);
  for (int i = 0; i < *count * kInts; ++i) second[i] = first[i] > second[i] ? first[i] : second[i];
  write_ints(second, *count, *type, inout);
  free(first);
  free(second);
}

#endif
