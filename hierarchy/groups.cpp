#include "hierarchy/groups.hpp"

#include <algorithm>

namespace weft::hierarchy {

std::vector<int> even_blocks(int total, int count) {
  std::vector<int> sizes(static_cast<std::size_t>(count), total / count);
  std::fill_n(sizes.begin(), total % count, total / count + 1);
  return sizes;
}

std::vector<Group> groups(const Machine& machine, int leaders) {
  std::vector<Group> result;
  for (int node = 0; node < machine.nodes(); ++node) {
    auto ranks = machine.ranks_on(node);
    const int total = static_cast<int>(ranks.size());
    for (const int size : even_blocks(total, std::min(leaders, total))) {
      result.push_back({node, ranks.first(static_cast<std::size_t>(size))});
      ranks = ranks.subspan(static_cast<std::size_t>(size));
    }
  }
  return result;
}

}  // namespace weft::hierarchy
