// A user's program in C++: the same as alltoall.c.
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

int main() {
  weft::Communicator world(weft::tcp_bootstrap());
  const int size = world.size();
  std::vector<int> in(static_cast<std::size_t>(size)), out(in.size());
  for (int to = 0; to < size; ++to) in[static_cast<std::size_t>(to)] = 100 * world.rank() + to;
  world.alltoall(std::span<const int>(in), std::span(out));
  int wrong = 0;
  for (int from = 0; from < size; ++from) {
    wrong += out[static_cast<std::size_t>(from)] != 100 * from + world.rank() ? 1 : 0;
  }
  // An error that was thrown inside the library is the one that is caught outside.
  bool caught = false;
  try {
    world.alltoall(in.data(), in.data() + 1, sizeof(int));
  } catch (const weft::UsageError&) {
    caught = true;
  }
  if (wrong != 0 || !caught) return 1;
  std::printf("rank %d of %d: right, %zu messages over '%s'\n", world.rank(), size,
              static_cast<std::size_t>(world.statistics().entries.at(0).messages),
              world.statistics().device.c_str());
  return 0;
}
