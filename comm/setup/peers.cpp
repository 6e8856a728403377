#include "comm/setup/peers.hpp"

#include <algorithm>

namespace weft::comm {

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
