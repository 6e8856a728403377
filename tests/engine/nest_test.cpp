// Nests of runs of bytes beside a plain loop over their bytes.
#include "engine/copying/nest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "engine/copying/grid.hpp"

namespace weft::engine::nest_test {
namespace {

using Bytes = std::vector<std::byte>;

std::uint64_t draw(std::uint64_t low, std::uint64_t end) {
  return *rc::gen::inRange<std::uint64_t>(low, end);
}

/// Where each byte of a nest lies, in order.
std::vector<std::ptrdiff_t> places_of(const Nest& nest) {
  std::vector<std::ptrdiff_t> starts = {nest.at};
  for (const Loop& loop : nest.loops) {
    std::vector<std::ptrdiff_t> next;
    for (const std::ptrdiff_t start : starts) {
      for (std::uint64_t i = 0; i < loop.count; ++i) {
        next.push_back(start + static_cast<std::ptrdiff_t>(i) * loop.stride);
      }
    }
    starts = next;
  }
  std::vector<std::ptrdiff_t> places;
  for (const std::ptrdiff_t start : starts) {
    for (std::uint64_t i = 0; i < nest.run_bytes; ++i) {
      places.push_back(start + static_cast<std::ptrdiff_t>(i));
    }
  }
  return places;
}

/// Loops of these counts over runs without overlap: the array that they walk has its dimensions in
/// any order, with gaps, and some go downwards. At least 8 bytes lie before and behind.
struct Side {
  Nest nest;
  Bytes memory;

  Side(std::uint64_t run, const std::vector<std::uint64_t>& counts) {
    nest.run_bytes = run;
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(draw(0, 1000))));
    std::vector<Loop> loops(counts.size());
    const bool is_dense = draw(0, 2) == 0;  // as the transposing tiles are for
    std::uint64_t stride = run + (is_dense ? 0 : draw(0, 3) * 8);
    nest.at = static_cast<std::ptrdiff_t>(8 + draw(0, 9) * 8);
    for (const std::size_t i : order) {
      loops[i] = {counts[i], static_cast<std::ptrdiff_t>(stride)};
      stride = stride * counts[i] + draw(0, 3) * 8;
      if (is_dense || draw(0, 4) != 0) continue;
      nest.at += static_cast<std::ptrdiff_t>(counts[i] - 1) * loops[i].stride;
      loops[i].stride = -loops[i].stride;
    }
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) nest.loops.push_front(*loop);
    memory.resize(stride + 200);
    std::mt19937 random(static_cast<unsigned>(draw(0, 1000)));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  }
  Elements elements() const {
    return {reinterpret_cast<std::uintptr_t>(memory.data()), {&nest, 1}, nest.bytes(), 0, 1};
  }
};

/// The same counts, or two of them as one, or one of them as two.
std::vector<std::uint64_t> regrouped(std::vector<std::uint64_t> counts) {
  const std::uint64_t way = draw(0, 3);
  if (way == 0 && counts.size() > 1) {
    counts[1] *= counts[0];
    counts.erase(counts.begin());
  } else if (way == 1 && counts.size() < 5 && counts.back() % 2 == 0) {
    counts.back() /= 2;
    counts.push_back(2);
  }
  return counts;
}

RC_GTEST_PROP(Nest, CopiesToAnotherOneOfAsManyBytes, ()) {
  const auto run = *rc::gen::element<std::uint64_t>(1, 3, 4, 8, 16, 24, 32, 64, 200);
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = draw(1, 5); i > 0; --i) counts.push_back(draw(1, i < 3 ? 41 : 5));
  const Side from(run, counts);
  Side to(run, regrouped(counts));
  Bytes wanted = to.memory;
  const auto there = places_of(to.nest), here = places_of(from.nest);
  for (std::size_t i = 0; i < here.size(); ++i) {
    wanted[static_cast<std::size_t>(there[i])] = from.memory[static_cast<std::size_t>(here[i])];
  }
  copy(to.elements(), from.elements(), draw(0, 2) == 0);
  RC_ASSERT(to.memory == wanted);
  const auto grid = grid_of(to.nest, from.nest);
  RC_ASSERT(grid.has_value());
}

RC_GTEST_PROP(Nest, ListsItsRuns, ()) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = draw(1, 4); i > 0; --i) counts.push_back(draw(1, 6));
  const Side side(draw(1, 10), counts);
  const auto places = places_of(side.nest);
  const std::uint64_t from = draw(0, places.size()), to = draw(from, places.size() + 1);
  std::vector<iovec> runs(draw(1, 30));
  std::uint64_t covered = 0;
  const std::size_t count = list_runs(side.elements(), from, to, runs, covered);
  RC_ASSERT(covered <= to - from);
  RC_ASSERT(covered == to - from || count == runs.size());
  std::uint64_t at = from;
  for (const iovec& run : std::span(runs).first(count)) {
    for (std::size_t i = 0; i < run.iov_len; ++i, ++at) {
      RC_ASSERT(static_cast<const std::byte*>(run.iov_base) + i == side.memory.data() + places[at]);
    }
  }
  RC_ASSERT(at == from + covered);
}

RC_GTEST_PROP(Nest, KnowsItsRange, ()) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = draw(1, 4); i > 0; --i) counts.push_back(draw(1, 6));
  const Side side(draw(1, 10), counts);
  const auto [low, high] = std::ranges::minmax(places_of(side.nest));
  const Range range = range_of(side.elements());
  RC_ASSERT(range.begin == reinterpret_cast<std::uintptr_t>(side.memory.data() + low));
  RC_ASSERT(range.end == reinterpret_cast<std::uintptr_t>(side.memory.data() + high + 1));
}

/// The transpose of a matrix of so many rows and columns, of elements of the type.
template <class Element>
void expect_transposed(std::size_t rows, std::size_t columns, bool past_caches) {
  std::vector<Element> matrix(rows * columns), result(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = {static_cast<Element>(i)};
  constexpr auto kBytes = static_cast<std::ptrdiff_t>(sizeof(Element));
  Nest by_columns{.at = 0, .run_bytes = sizeof(Element)};
  by_columns.loops.push_front({rows, kBytes * static_cast<std::ptrdiff_t>(columns)});
  by_columns.loops.push_front({columns, kBytes});
  const Nest in_a_row{.at = 0, .run_bytes = sizeof(Element) * matrix.size()};
  const auto grid = grid_of(in_a_row, by_columns);
  ASSERT_TRUE(grid);
  copy(reinterpret_cast<std::byte*>(result.data()),
       reinterpret_cast<const std::byte*>(matrix.data()), *grid, past_caches);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    ASSERT_EQ(result[i % columns * rows + i / columns], matrix[i]) << rows << " x " << columns;
  }
}

TEST(Grid, TransposesMatricesOfAnyShape) {
  for (const std::size_t rows : {1, 2, 7, 8, 16, 33, 128, 200}) {
    for (const std::size_t columns : {1, 3, 8, 15, 16, 64, 100}) {
      for (const bool past : {false, true}) {
        expect_transposed<std::uint32_t>(rows, columns, past);
        expect_transposed<double>(rows, columns, past);
        expect_transposed<long double>(rows, columns, past);
      }
    }
  }
}

}  // namespace
}  // namespace weft::engine::nest_test
