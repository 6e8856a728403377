#include "hierarchy/domains.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "hierarchy/groups.hpp"

namespace weft::hierarchy {

Machine in_blocks(const Machine& machine, int domains) {
  std::vector<int> labels(static_cast<std::size_t>(machine.ranks()));
  for (int node = 0; node < machine.nodes(); ++node) {
    auto rank = machine.ranks_on(node).begin();
    int label = 0;
    const int ranks = static_cast<int>(machine.ranks_on(node).size());
    for (const int size : even_blocks(ranks, std::min(domains, ranks))) {
      for (int i = 0; i < size; ++i) labels[*rank++] = label;
      ++label;
    }
  }
  return machine.with_domains(labels);
}

Machine dealt_out(const Machine& machine, int domains) {
  std::vector<int> labels;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    labels.push_back(machine.place_of(rank) % domains);
  }
  return machine.with_domains(labels);
}

Machine with_virtual_sockets(const Machine& machine, std::string_view setting) {
  if (auto divided = parse_domains(machine, setting)) return *std::move(divided);
  throw_usage(
      "WEFT_SOCKETS={}: not a whole number from 1 to {} (sockets of a node, in blocks), nor one "
      "with :cyclic, nor the socket of each of {} ranks such as 0,0,1,1",
      setting, Machine::kMostRanks, machine.ranks());
}

}  // namespace weft::hierarchy
