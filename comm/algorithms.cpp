#include "comm/algorithms.hpp"

#include <algorithm>

#include "alltoall/registry.hpp"
#include "gather/registry.hpp"
#include "reduce/registry.hpp"

namespace weft::comm {

Algorithm parse_algorithm(plan::Collective collective, std::string_view text) {
  if (is_alltoall(collective)) {
    return as_algorithm(alltoall::Algorithm::parse(text));
  }
  if (is_reduction(collective)) return as_algorithm(reduce::Algorithm::parse(collective, text));
  return as_algorithm(gather::Algorithm::parse(collective, text));
}

std::vector<int> peers_of(const plan::Plan& plan) {
  std::vector<int> peers;
  for (const plan::Op& op : plan.ops()) {
    if (op.kind == plan::OpKind::send || op.kind == plan::OpKind::recv) peers.push_back(op.peer);
  }
  std::ranges::sort(peers);
  peers.erase(std::ranges::unique(peers).begin(), peers.end());
  return peers;
}

}  // namespace weft::comm
