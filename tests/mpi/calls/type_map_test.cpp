// Type maps beside MPI's definition of each constructor: any datatypes, any parts of their bytes.
// The host's MPI_Pack would not do: Open MPI 4.1 packs a vector whose blocks follow each other
// downwards as if they went upwards, and MPICH 4.0 divides by zero for some empty types.
#include <gtest/gtest.h>
#include <mpi.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "mpi/datatypes/type_map.hpp"

namespace weft::mpi {
namespace {

using Bytes = std::vector<std::byte>;

/// A datatype that is freed with its owner.
struct Type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  bool is_made = false;
  std::vector<MPI_Aint> places;  // of each of its bytes, in order

  Type() = default;
  explicit Type(MPI_Datatype predefined) : handle(predefined) {
    int size = 0;
    MPI_Type_size(predefined, &size);
    for (int i = 0; i < size; ++i) places.push_back(i);
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type() {
    if (is_made) MPI_Type_free(&handle);
  }

  MPI_Aint extent() const {
    MPI_Aint low = 0, extent = 0;
    MPI_Type_get_extent(handle, &low, &extent);
    return extent;
  }
  /// `length` elements of another type one after another, from `at` on.
  void add(const Type& other, int length, MPI_Aint at) {
    for (int i = 0; i < length; ++i) {
      for (const MPI_Aint place : other.places) places.push_back(at + i * other.extent() + place);
    }
  }
};
using Shared = std::shared_ptr<Type>;

int draw(int low, int end) {
  return *rc::gen::inRange(low, end);
}

/// From 0 to `most`, mostly not 0.
int draw_count(int most) {
  return draw(0, 12) == 11 ? 0 : draw(1, most + 1);
}

std::vector<int> draws(int count, int low, int end) {
  return *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(count),
                                               rc::gen::inRange(low, end));
}

void make_subarray(Type& made, const Type& inner) {
  const int dimensions = draw(1, 4);
  const bool is_c = draw(0, 2) == 0;
  std::vector<int> sizes, parts, starts;
  for (int i = 0; i < dimensions; ++i) {
    sizes.push_back(draw(1, 6));
    parts.push_back(draw(1, sizes.back() + 1));
    starts.push_back(draw(0, sizes.back() - parts.back() + 1));
  }
  MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(),
                           is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.handle, &made.handle);
  int elements = 1;
  for (const int part : parts) elements *= part;
  for (int i = 0; i < elements; ++i) {
    // Digits of i, the fastest dimension first.
    int left = i, stride = 1, at = 0;
    for (int digit = 0; digit < dimensions; ++digit) {
      const auto one = static_cast<std::size_t>(is_c ? dimensions - 1 - digit : digit);
      at += (starts[one] + left % parts[one]) * stride;
      left /= parts[one];
      stride *= sizes[one];
    }
    made.add(inner, 1, at * inner.extent());
  }
}

/// A datatype of `depth` constructors. Blocks may come in any order, and overlap, which is allowed
/// where data are sent.
Shared draw_type(int depth) {
  if (depth == 0) {
    const MPI_Datatype leaves[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    return std::make_shared<Type>(leaves[draw(0, 4)]);
  }
  const Shared inner = draw_type(depth - 1);
  const MPI_Datatype old = inner->handle;
  const MPI_Aint extent = inner->extent();
  auto made = std::make_shared<Type>();
  const int count = draw_count(4), length = draw_count(3);
  const auto entries = static_cast<std::size_t>(count);
  const auto lengths = draws(count, 0, 4);
  const auto places = draws(count, -6, 20);
  std::vector<MPI_Aint> offsets;
  for (const int place : places) offsets.push_back(place * 4);
  switch (draw(0, 11)) {
    case 0:
      MPI_Type_contiguous(count, old, &made->handle);
      made->add(*inner, count, 0);
      break;
    case 1: {
      const int stride = draw(-5, 8);
      MPI_Type_vector(count, length, stride, old, &made->handle);
      for (int i = 0; i < count; ++i) made->add(*inner, length, i * stride * extent);
      break;
    }
    case 2: {
      const int stride = draw(-40, 100);
      MPI_Type_create_hvector(count, length, stride, old, &made->handle);
      for (int i = 0; i < count; ++i) made->add(*inner, length, i * stride);
      break;
    }
    case 3:
      MPI_Type_indexed(count, lengths.data(), places.data(), old, &made->handle);
      for (std::size_t i = 0; i < entries; ++i) made->add(*inner, lengths[i], places[i] * extent);
      break;
    case 4:
      MPI_Type_create_hindexed(count, lengths.data(), offsets.data(), old, &made->handle);
      for (std::size_t i = 0; i < entries; ++i) made->add(*inner, lengths[i], offsets[i]);
      break;
    case 5:
      MPI_Type_create_indexed_block(count, length, places.data(), old, &made->handle);
      for (const int place : places) made->add(*inner, length, place * extent);
      break;
    case 6:
      MPI_Type_create_hindexed_block(count, length, offsets.data(), old, &made->handle);
      for (const MPI_Aint offset : offsets) made->add(*inner, length, offset);
      break;
    case 7: {
      const Type number(MPI_INT);
      std::vector<MPI_Datatype> types(entries, old);
      for (std::size_t i = 0; i < entries; i += 2) types[i] = number.handle;
      MPI_Type_create_struct(count, lengths.data(), offsets.data(), types.data(), &made->handle);
      for (std::size_t i = 0; i < entries; ++i) {
        made->add(i % 2 == 0 ? number : *inner, lengths[i], offsets[i]);
      }
      break;
    }
    case 8:
      make_subarray(*made, *inner);
      break;
    case 9:
      MPI_Type_create_resized(old, draw(-8, 9), extent + draw(-8, 40), &made->handle);
      made->places = inner->places;
      break;
    default:
      MPI_Type_dup(old, &made->handle);
      made->places = inner->places;
  }
  made->is_made = true;
  return made;
}

void fill(Bytes& bytes, unsigned seed) {
  for (std::byte& one : bytes) {
    one = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
  }
}

RC_GTEST_PROP(TypeMap, IsWhatTheConstructorsSay, (unsigned seed)) {
  const Shared type = draw_type(draw(0, 5));
  const int count = draw(1, 30);
  const auto map = TypeMap::of(type->handle);
  RC_PRE(map.has_value());
  RC_ASSERT(map->bytes() == type->places.size());
  const MPI_Aint extent = type->extent();
  Type elements;
  elements.add(*type, count, 0);
  const std::vector<MPI_Aint>& places = elements.places;
  const auto all = static_cast<std::uint64_t>(places.size());
  const auto number = static_cast<std::uint64_t>(count);
  if (all == 0) return;

  const auto [low, high] = std::ranges::minmax(places);
  const MPI_Aint begin = 8 - low;
  Bytes memory(static_cast<std::size_t>(begin + high + 8));
  fill(memory, seed);
  Bytes expected;
  for (const MPI_Aint place : places) {
    expected.push_back(memory[static_cast<std::size_t>(begin + place)]);
  }
  const auto one = *rc::gen::inRange<std::uint64_t>(0, all + 1);
  const auto other = *rc::gen::inRange<std::uint64_t>(0, all + 1);
  const std::uint64_t from = std::min(one, other), to = std::max(one, other);
  for (const auto& [first, last] : {std::pair{std::uint64_t{0}, all}, std::pair{from, to}}) {
    Bytes wanted(expected.begin() + static_cast<std::ptrdiff_t>(first),
                 expected.begin() + static_cast<std::ptrdiff_t>(last));
    wanted.resize(wanted.size() + 8, std::byte{0x5a});
    Bytes packed(wanted.size(), std::byte{0x5a});
    engine::pack(map->elements(memory.data() + begin, number, extent), first, last, packed.data());
    RC_ASSERT(packed == wanted);
  }

  // Where blocks overlap nothing may be received.
  std::vector<MPI_Aint> sorted = places;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return;
  Bytes wanted(memory.size()), received(memory.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    wanted[static_cast<std::size_t>(begin + places[i])] = expected[i];
  }
  for (const auto& [first, last] :
       {std::pair{to, all}, std::pair{std::uint64_t{0}, from}, std::pair{from, to}}) {
    engine::unpack(map->elements(received.data() + begin, number, extent), first, last,
                   expected.data() + first);
  }
  RC_ASSERT(received == wanted);
}

/// Elements of a datatype in memory of their own.
struct Side {
  std::optional<TypeMap> map;
  std::vector<MPI_Aint> places;  // of each byte in `memory`
  MPI_Aint begin = 0;            // of the first element there
  MPI_Aint extent = 0;
  std::uint64_t count = 0;
  Bytes memory;

  Side(const Type& type, std::uint64_t elements)
      : map(TypeMap::of(type.handle)), extent(type.extent()), count(elements) {
    Type all;
    all.add(type, static_cast<int>(count), 0);
    const auto [low, high] = std::ranges::minmax(all.places);
    begin = 8 - low;
    for (const MPI_Aint place : all.places) places.push_back(begin + place);
    memory.resize(static_cast<std::size_t>(begin + high + 8));
  }
  engine::Elements elements() const { return map->elements(memory.data() + begin, count, extent); }
};

// Equal signatures are all that MPI asks of the two ends.
RC_GTEST_PROP(TypeMap, CopiesToElementsOfAnotherType, (unsigned seed)) {
  const Shared from_type = draw_type(draw(0, 5)), to_type = draw_type(draw(0, 5));
  const std::size_t from_bytes = from_type->places.size(), to_bytes = to_type->places.size();
  RC_PRE(from_bytes != 0 && to_bytes != 0);
  const std::size_t all = std::lcm(from_bytes, to_bytes) * static_cast<std::size_t>(draw(1, 6));
  RC_PRE(all < 100'000);
  Side from(*from_type, all / from_bytes), to(*to_type, all / to_bytes);
  RC_PRE(from.map.has_value() && to.map.has_value());
  std::vector<MPI_Aint> sorted = to.places;
  std::ranges::sort(sorted);
  RC_PRE(std::ranges::adjacent_find(sorted) == sorted.end());
  fill(from.memory, seed);
  Bytes wanted = to.memory;
  for (std::size_t i = 0; i < all; ++i) {
    wanted[static_cast<std::size_t>(to.places[i])] =
        from.memory[static_cast<std::size_t>(from.places[i])];
  }
  engine::copy(to.elements(), from.elements(), draw(0, 2) == 0);
  RC_ASSERT(to.memory == wanted);
}

TEST(TypeMap, TakesColumnsOfAMatrix) {
  constexpr int kRows = 300, kColumns = 70;
  MPI_Datatype column = MPI_DATATYPE_NULL, columns = MPI_DATATYPE_NULL;
  MPI_Type_vector(kRows, 1, kColumns, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &columns);
  MPI_Type_commit(&columns);
  const auto map = TypeMap::of(columns);
  ASSERT_TRUE(map);
  ASSERT_EQ(map->nests().size(), 1u);
  EXPECT_EQ(map->nests().front().loops.size(), 1u);
  std::vector<double> matrix(kRows * kColumns), transposed(matrix.size()), back(matrix.size());
  std::iota(matrix.begin(), matrix.end(), 0.0);
  const std::uint64_t all = matrix.size() * sizeof(double);
  engine::pack(map->elements(matrix.data(), kColumns, sizeof(double)), 0, all,
               reinterpret_cast<std::byte*>(transposed.data()));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    ASSERT_EQ(transposed[i % kColumns * kRows + i / kColumns], matrix[i]) << i;
  }
  engine::unpack(map->elements(back.data(), kColumns, sizeof(double)), 0, all,
                 reinterpret_cast<const std::byte*>(transposed.data()));
  EXPECT_EQ(back, matrix);
  MPI_Type_free(&columns);
  MPI_Type_free(&column);
}

TEST(TypeMap, IsAsSmallAsCanBe) {
  const int sizes[] = {8, 6, 4}, parts[] = {3, 6, 4}, starts[] = {2, 0, 0};
  MPI_Datatype slab = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &slab);
  MPI_Type_commit(&slab);
  const auto map = TypeMap::of(slab);
  ASSERT_TRUE(map);
  ASSERT_EQ(map->nests().size(), 1u);
  EXPECT_TRUE(map->nests().front().loops.empty());
  EXPECT_EQ(map->nests().front().run_bytes, 3u * 6 * 4 * sizeof(int));
  EXPECT_EQ(map->nests().front().at, 2 * 6 * 4 * static_cast<std::ptrdiff_t>(sizeof(int)));
  MPI_Type_free(&slab);
}

/// Too irregular for a map: as few bytes as there are, the host packs it.
TEST(TypeMap, IsRefusedWhereItWouldBeLarge) {
  const std::vector<int> places = [] {
    std::vector<int> all(2 * TypeMap::kMostNests);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i * i % 9973 * 2);
    return all;
  }();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_INT, &type);
  MPI_Type_commit(&type);
  EXPECT_FALSE(TypeMap::of(type));
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/// Of such types MPICH takes questions in another form only, and ends the program that asks else.
TEST(TypeMap, IsRefusedOfTypesWithLargeCounts) {
  MPI_Datatype large = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
  MPI_Type_vector_c(4, 1, 2, MPI_INT, &large);
  MPI_Type_contiguous(3, large, &outer);
  EXPECT_FALSE(TypeMap::of(large));
  EXPECT_FALSE(TypeMap::of(outer));
  MPI_Type_free(&outer);
  MPI_Type_free(&large);
}
#endif

TEST(TypeMap, IsKeptOnce) {
  TypeMap map = TypeMap::run(12);
  ASSERT_TRUE(map.repeat(5, 40));
  const TypeMap* first = keep(map);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(keep(map), first);
  ASSERT_TRUE(map.repeat(2, 400));
  EXPECT_NE(keep(map), first);
}

}  // namespace
}  // namespace weft::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
