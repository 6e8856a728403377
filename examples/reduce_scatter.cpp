// Reduce_scatter: multiplies a matrix, divided by columns, by a vector.
//
//   weft run -n 4 build/release/examples/reduce_scatter
//
// Each rank has some columns and the matching numbers of the vector, and so computes a part of
// every number of the result. Reduce_scatter adds the parts and gives each rank its block of the
// sum.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kColumns = 100;  // of each rank

double matrix(std::size_t row, std::size_t column) {
  return row == column ? 3 : 1 / (1 + static_cast<double>(row + column));
}

double vector(std::size_t i) {
  return 1 + static_cast<double>(i % 7);
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const std::size_t side = kColumns * static_cast<std::size_t>(world.size());
  const std::size_t first = kColumns * static_cast<std::size_t>(world.rank());
  std::vector<double> partial(side), result(kColumns);
  for (std::size_t row = 0; row < side; ++row) {
    for (std::size_t column = first; column < first + kColumns; ++column) {
      partial[row] += matrix(row, column) * vector(column);
    }
  }

  world.reduce_scatter(partial.data(), result.data(), kColumns,
                       weft::operation(weft::Operator::sum, weft::Type::float64));

  double error = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    double expected = 0;
    for (std::size_t column = 0; column < side; ++column) {
      expected += matrix(first + i, column) * vector(column);
    }
    error = std::max(error, std::abs(result[i] - expected));
  }
  if (world.rank() == 0) std::printf("%zu numbers, error %.1e\n", side, error);
  return error < 1e-9 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "reduce_scatter: %s\n", error.what());
  return 1;
}
