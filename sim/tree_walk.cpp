#include "sim/tree_walk.hpp"

namespace weft::sim {

namespace {
constexpr std::size_t kMostChildren = 16;  // of a rank that are looked at
}

void TreeWalk::run() {
  const auto children = receivers(*ranks_.plan_of(root_));
  if (children.empty()) return;
  const int height = ranks_.height_at(root_);
  if (ranks_.height_at(children.front()) <= height && ranks_.height_at(children.back()) <= height) {
    return;
  }
  for (const bool to_last : {false, true}) {
    for (const int child : children.size() > kMostChildren
                               ? std::vector{children.front(), children.back()}
                               : children) {
      down(child, to_last);
    }
  }
  for (const Weights weights : {Weights{1, 0}, {4, 1}, {1, 1}, {1, 4}, {0, 1}}) {
    longest_.clear();
    int rank = root_;
    for (int level = 0; level < kMostDepth && rank >= 0; ++level) {
      add_members(rank);
      rank = longest(rank, weights, 0).child;
    }
  }
}

/// A rank, and the first and the last one of its node.
void TreeWalk::add_members(int rank) {
  const auto node = machine_.ranks_on(machine_.node_of(rank));
  for (const int one : {rank, node.front(), node.back()}) ranks_.member_for(one);
}

/// By first children, or by last ones.
void TreeWalk::down(int rank, bool to_last) {
  for (int level = 0; level < kMostDepth; ++level) {
    add_members(rank);
    const auto children = receivers(*ranks_.plan_of(rank));
    if (children.empty()) return;
    const int next = to_last ? children.back() : children.front();
    if (ranks_.height_at(next) <= ranks_.height_at(rank)) return;
    rank = next;
  }
}

/// The longest way from a rank down. Ranks of one shape have subtrees of one shape.
TreeWalk::Way TreeWalk::longest(int rank, const Weights& weights, int level) {
  Way way;
  const std::uint64_t shape = ranks_.shape_at(rank);
  const int height = ranks_.height_at(rank);
  if (const auto known = longest_.find(shape); known != longest_.end()) {
    if (level > 0) return known->second;
  }
  if (level > kMostDepth) return way;
  const std::vector<int> children = receivers(*ranks_.plan_of(rank));
  const std::size_t step = 1 + children.size() / kMostChildren;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (i % step != 0 && i + 1 != children.size()) continue;
    if (ranks_.height_at(children[i]) <= height) continue;
    const int length = weights.level + weights.send * static_cast<int>(i) +
                       longest(children[i], weights, level + 1).length;
    if (length >= way.length) way = {length, children[i]};
  }
  longest_[shape] = way;
  return way;
}

/// The peers to which a rank sends: on other nodes, if there are any.
std::vector<int> TreeWalk::receivers(const plan::Plan& plan) const {
  std::vector<int> local, remote;
  for (const plan::Op& op : plan.ops()) {
    if (op.kind != plan::OpKind::send) continue;
    (machine_.same_node(op.peer, plan.rank()) ? local : remote).push_back(op.peer);
  }
  return remote.empty() ? local : remote;
}

}  // namespace weft::sim
