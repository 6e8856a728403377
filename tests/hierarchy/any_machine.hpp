// Random machines for property tests.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// Any placement of 1 to `most_ranks` ranks on up to 10 nodes: in blocks or interleaved. For use
/// inside a property; shrinks to few ranks on few nodes.
inline Machine any_machine(int most_ranks = 40) {
  const int ranks = *rc::gen::inRange(1, most_ranks + 1).as("ranks");
  const int most_nodes = *rc::gen::inRange(1, 11).as("nodes at most");
  std::vector<int> nodes = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(ranks),
                                                                 rc::gen::inRange(0, most_nodes));
  if (*rc::gen::arbitrary<bool>().as("in blocks")) std::ranges::sort(nodes);
  std::vector<int> number(static_cast<std::size_t>(most_nodes), -1);  // closes the gaps
  int seen = 0;
  for (int& node : nodes) {
    if (number[node] < 0) number[node] = seen++;
    node = number[node];
  }
  return Machine(std::move(nodes));
}

}  // namespace weft::hierarchy
