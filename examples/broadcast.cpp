// Broadcast: gives a table that one rank has made to all ranks.
//
//   weft run -n 4 build/release/examples/broadcast
//
// Rank 0 makes a table; first its length goes to all, then the table.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "weft/weft.hpp"

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  std::vector<double> table;
  if (world.rank() == 0) {
    for (int i = 0; i < 300'000; ++i) table.push_back(1.0 / (1 + i));
  }

  std::uint64_t length = table.size();
  world.broadcast(&length, sizeof length, 0);
  table.resize(length);
  world.broadcast(table.data(), table.size() * sizeof(double), 0);

  bool right = table.size() == 300'000;
  for (std::size_t i = 0; i < table.size(); ++i) {
    right = right && table[i] == 1.0 / (1 + static_cast<double>(i));
  }
  if (!right) std::fprintf(stderr, "broadcast: rank %d has another table\n", world.rank());
  if (world.rank() == 0) std::printf("%zu numbers to %d ranks\n", table.size(), world.size());
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "broadcast: %s\n", error.what());
  return 1;
}
