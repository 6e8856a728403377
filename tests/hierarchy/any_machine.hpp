// Random machines for property tests.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "hierarchy/domains.hpp"
#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// Ranks of a node in any of up to 4 domains. For use inside a property; shrinks to few.
inline Machine with_any_domains(const Machine& machine) {
  return machine.with_domains(*rc::gen::container<std::vector<int>>(
      static_cast<std::size_t>(machine.ranks()), rc::gen::inRange(0, *rc::gen::inRange(1, 5))));
}

/// Any placement of 1 to `most_ranks` ranks on up to 10 nodes: in blocks or interleaved, half of
/// them with domains, in blocks, dealt out or any. For use inside a property; shrinks to few ranks
/// on few nodes without domains.
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
  const Machine machine(std::move(nodes));
  switch (*rc::gen::inRange(0, 6).as("domains")) {
    case 3:
      return in_blocks(machine, *rc::gen::inRange(1, 5));
    case 4:
      return dealt_out(machine, *rc::gen::inRange(1, 5));
    case 5:
      return with_any_domains(machine);
    default:
      return machine;
  }
}

}  // namespace weft::hierarchy
