#include "hierarchy/inside_node.hpp"

#include "base/cast.hpp"
#include "hierarchy/blocks.hpp"

namespace weft::hierarchy {

using plan::OpId;
using plan::Slice;
using plan::Space;

InsideNode::InsideNode(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                       bool direct)
    : builder_(builder),
      problem_(problem),
      machine_(machine),
      direct_(direct),
      self_(builder.rank()),
      peers_(peers_of(machine, builder.rank())) {}

std::uint64_t InsideNode::stage_bytes() const {
  if (direct_) return 0;
  return round_up(peers_.size() * problem_.block_bytes, plan::kSliceAlignment);
}

OpenInputs& InsideNode::inputs() {
  if (!inputs_) inputs_.emplace(builder_, peers_);
  return *inputs_;
}

std::vector<OpId> InsideNode::collect(const Moves& moves) {
  return direct_ ? inputs().read(moves) : push(builder_, peers_, moves);
}

void InsideNode::exchange_blocks() {
  if (!direct_) return exchange_staged();
  inputs().read([this](int from, int to) -> Move {
    return {{block(problem_, Space::output, to, from)}, {block(problem_, Space::input, from, to)}};
  });
  inputs().close();
}

Slice InsideNode::slot(int owner, int peer) const {
  const int place = machine_.place_of(peer);
  const int index = place - (place > machine_.place_of(owner));
  return Slice::contiguous(Space::stage, owner,
                           static_cast<std::uint64_t>(index) * problem_.block_bytes,
                           problem_.block_bytes);
}

void InsideNode::exchange_staged() {
  std::vector<int> others;  // by place
  for (const int rank : machine_.ranks_on(machine_.node_of(self_))) {
    if (rank != self_) others.push_back(rank);
  }
  std::vector<OpId> staged;
  builder_.gather(Slice::contiguous(Space::stage, self_, 0, others.size() * problem_.block_bytes),
                  blocks(problem_, Space::input, self_, others), {}, staged);
  const auto moves = [this](int from, int to) -> Move {
    if (from == to) return {};
    return {{block(problem_, Space::output, to, from)}, {slot(from, to)}};
  };
  pull(builder_, peers_, moves, staged);
  builder_.copy(block(problem_, Space::output, self_, self_),
                block(problem_, Space::input, self_, self_));
}

void InsideNode::distribute(const Moves& moves, plan::After ready) {
  pull(builder_, peers_, moves, ready);
}

}  // namespace weft::hierarchy
