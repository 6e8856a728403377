#include "gather/flat/tree.hpp"

#include <algorithm>

namespace weft::gather {

std::vector<Range> sequential_tree(Range range, int /*radix*/) {
  std::vector<Range> children;
  for (int member = range.first + 1; member < range.last; ++member) {
    children.push_back({member, member + 1});
  }
  return children;
}

std::vector<Range> chain_tree(Range range, int /*radix*/) {
  if (range.size() == 1) return {};
  return {{range.first + 1, range.last}};
}

std::vector<Range> binary_tree(Range range, int /*radix*/) {
  if (range.size() == 1) return {};
  const int middle = range.first + 1 + range.size() / 2;
  if (middle >= range.last) return {{range.first + 1, range.last}};
  return {{range.first + 1, middle}, {middle, range.last}};
}

std::vector<Range> binomial_tree(Range range, int radix) {
  std::vector<Range> children;
  radix = std::min(radix, std::max(range.size(), 2));
  std::int64_t weight = 1;
  while (weight * radix < range.size()) weight *= radix;
  for (int last = range.last; weight >= 1 && last > range.first + 1; weight /= radix) {
    const int step = static_cast<int>(weight);
    for (int digit = radix - 1; digit >= 1; --digit) {
      const std::int64_t first = range.first + static_cast<std::int64_t>(digit) * step;
      if (first >= last) continue;
      children.push_back({static_cast<int>(first), last});
      last = static_cast<int>(first);
    }
  }
  return children;
}

TreeNode find_in_tree(Topology topology, int radix, int size, int member) {
  // On the way to a member all others of these would be met.
  if (topology == chain_tree)
    return {{member, size}, member - 1, chain_tree({member, size}, radix)};
  if (topology == sequential_tree && member > 0) return {{member, member + 1}, 0, {}};
  TreeNode node{{0, size}, -1, {}};
  for (;;) {
    node.children = topology(node.own, radix);
    if (node.own.first == member) return node;
    node.parent = node.own.first;
    node.own = *std::ranges::find_if(node.children, [&](const Range& child) {
      return child.first <= member && member < child.last;
    });
  }
}

}  // namespace weft::gather
