// Scatter and gather: one rank distributes work and collects the results.
//
//   weft run -n 4 build/release/examples/scatter_gather
//
// The work does not divide evenly, so the parts differ in size. Only rank 0 knows all parts; the
// other ranks know their own.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr std::size_t kItems = 10'007;

std::size_t items_of(int rank, int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  return kItems / size + (static_cast<std::size_t>(rank) < kItems % size ? 1 : 0);
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  std::vector<std::uint64_t> all, mine(items_of(world.rank(), world.size()));
  std::vector<weft::Part> parts;
  if (world.rank() == 0) {
    all.resize(kItems);
    for (std::size_t i = 0; i < kItems; ++i) all[i] = i;
    std::size_t offset = 0;
    for (int rank = 0; rank < world.size(); ++rank) {
      const std::size_t bytes = items_of(rank, world.size()) * sizeof(std::uint64_t);
      parts.push_back({.offset = offset, .bytes = bytes});
      offset += bytes;
    }
  }
  const std::size_t my_bytes = mine.size() * sizeof(std::uint64_t);

  world.scatter(all.data(), parts, mine.data(), my_bytes, 0);
  for (std::uint64_t& item : mine) item = item * item;
  world.gather(mine.data(), my_bytes, all.data(), parts, 0);

  if (world.rank() != 0) return 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kItems; ++i) wrong += all[i] == i * i ? 0 : 1;
  std::printf("%zu items on %d ranks, %zu wrong\n", kItems, world.size(), wrong);
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "scatter_gather: %s\n", error.what());
  return 1;
}
