// Alltoall: transposes a matrix whose rows are distributed over the ranks.
//
//   weft run -n 4 build/release/examples/transpose
//
// Each rank has kRows rows of a square matrix. Its part of the columns that another rank is
// to get is one block; alltoall moves all blocks, and each rank transposes the blocks that it
// receives.
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kRows = 64;  // of each rank

double element(std::size_t row, std::size_t column) {
  return static_cast<double>(row) + 0.0001 * static_cast<double>(column);
}

/// Transposes: from this rank's rows, of `columns` numbers each, to its rows of the result.
std::vector<double> transpose(weft::Communicator& world, const std::vector<double>& rows) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::size_t columns = kRows * ranks;
  std::vector<double> blocks(rows.size()), arrived(rows.size()), result(rows.size());
  for (std::size_t to = 0; to < ranks; ++to) {
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t i = 0; i < kRows; ++i) {
        blocks[(to * kRows + i) * kRows + row] = rows[row * columns + to * kRows + i];
      }
    }
  }
  world.alltoall(std::span<const double>(blocks), std::span(arrived));
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t row = 0; row < kRows; ++row) {
        result[i * columns + from * kRows + row] = arrived[(from * kRows + i) * kRows + row];
      }
    }
  }
  return result;
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const std::size_t columns = kRows * static_cast<std::size_t>(world.size());
  const std::size_t first = kRows * static_cast<std::size_t>(world.rank());
  std::vector<double> rows(kRows * columns);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      rows[row * columns + column] = element(first + row, column);
    }
  }

  const std::vector<double> transposed = transpose(world, rows);

  std::size_t wrong = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (transposed[row * columns + column] != element(column, first + row)) ++wrong;
    }
  }
  if (world.rank() == 0) {
    std::printf("%zu x %zu transposed by %s, %zu wrong\n", columns, columns,
                world.algorithm_for("alltoall", kRows * kRows * sizeof(double)).c_str(), wrong);
  }
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "transpose: %s\n", error.what());
  return 1;
}
