#include "sim/symmetry.hpp"

namespace weft::sim {

std::string asymmetry(const hierarchy::Machine& machine) {
  if (machine.nodes() == 1) return "one node";
  const auto first = machine.ranks_on(0);
  const bool in_blocks = first.back() == static_cast<int>(first.size()) - 1;
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto ranks = machine.ranks_on(node);
    if (ranks.size() != first.size()) return "nodes of different sizes";
    const int step = in_blocks ? 1 : machine.nodes();
    const int begin = in_blocks ? node * static_cast<int>(first.size()) : node;
    if (ranks.front() != begin ||
        ranks.back() != begin + step * (static_cast<int>(ranks.size()) - 1)) {
      return "ranks neither in blocks nor dealt out in turn";
    }
    if (machine.domains_on(node) != machine.domains_on(0)) return "sockets that differ";
  }
  return {};
}

}  // namespace weft::sim
