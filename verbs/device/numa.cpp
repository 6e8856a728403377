#include "verbs/device/numa.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>

namespace weft::verbs {

namespace {
constexpr int kHere = 10;
}

int numa_node_of_device(std::string_view device, const std::filesystem::path& system) {
  std::ifstream file(system / "class/infiniband" / device / "device/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

int numa_node_of_thread() noexcept {
  unsigned core = 0;
  unsigned node = 0;
  return ::getcpu(&core, &node) == 0 ? static_cast<int>(node) : -1;
}

int numa_distance(int from, int to, const std::filesystem::path& system) {
  if (from < 0 || to < 0 || from == to) return kHere;
  std::ifstream file(system / "devices/system/node" / ("node" + std::to_string(from)) / "distance");
  // One number for each node that is there; their numbers may have gaps, but hardly ever do.
  int distance = kHere;
  for (int node = 0; node <= to; ++node) {
    if (!(file >> distance)) return kHere;
  }
  return distance;
}

std::vector<std::size_t> nearest_first(std::span<const int> distances, int turn) {
  std::vector<std::size_t> order(distances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
  const auto farther = std::ranges::find_if(
      order, [&](std::size_t i) { return distances[i] != distances[order.front()]; });
  if (order.size() > 1) {
    std::rotate(order.begin(), order.begin() + turn % (farther - order.begin()), farther);
  }
  return order;
}

}  // namespace weft::verbs
