// Alltoallw: redistributes a matrix from rows to columns, without a copy of all that is sent.
//
//   weft run -n 4 build/release/examples/redistribute
//
// Each rank has kRows rows of a square matrix, and is to have as many columns of it. What another
// rank is to get of each row is not in one piece: weft asks for parts of it as it has room.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kRows = 64;  // of each rank, and the columns that it is to have

double element(std::size_t row, std::size_t column) {
  return static_cast<double>(row) + 0.0001 * static_cast<double>(column);
}

/// Bytes `from` to `to` of the kRows x kRows block in which column `first` is the first: its rows
/// lie `columns` numbers apart.
void pack_block(const std::vector<double>& rows, std::size_t columns, std::size_t first,
                std::size_t from, std::size_t to, std::byte* packed) {
  constexpr std::size_t kBytes = kRows * sizeof(double);  // of a row of the block
  while (from < to) {
    const std::size_t row = from / kBytes, at = from % kBytes;
    const std::size_t bytes = std::min(to - from, kBytes - at);
    const auto* piece = reinterpret_cast<const std::byte*>(&rows[row * columns + first]);
    std::memcpy(packed, piece + at, bytes);
    packed += bytes;
    from += bytes;
  }
}

/// From this rank's rows, of `columns` numbers each, to its columns: kRows numbers of every row.
std::vector<double> to_columns(weft::Communicator& world, const std::vector<double>& rows) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::size_t columns = kRows * ranks;
  const std::vector<std::size_t> block_bytes(ranks, kRows * kRows * sizeof(double));
  std::vector<double> result(columns * kRows);
  weft::Packer packer;
  packer.pack = [&](int rank, std::size_t from, std::size_t to, std::byte* packed) {
    pack_block(rows, columns, kRows * static_cast<std::size_t>(rank), from, to, packed);
  };
  // Blocks of the result follow one another.
  packer.unpack = [&](int rank, std::size_t from, std::size_t to, const std::byte* packed) {
    auto* block =
        reinterpret_cast<std::byte*>(&result[kRows * kRows * static_cast<std::size_t>(rank)]);
    std::memcpy(block + from, packed, to - from);
  };
  world.alltoallw(block_bytes, block_bytes, packer);
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

  const std::vector<double> mine = to_columns(world, rows);

  std::size_t wrong = 0;
  for (std::size_t row = 0; row < columns; ++row) {
    for (std::size_t i = 0; i < kRows; ++i) {
      if (mine[row * kRows + i] != element(row, first + i)) ++wrong;
    }
  }
  if (world.rank() == 0) {
    std::printf("%zu x %zu redistributed, packed in %s, %zu wrong\n", columns, columns,
                world.packs_in_parts() ? "parts" : "one piece", wrong);
  }
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "redistribute: %s\n", error.what());
  return 1;
}
