#include "plan/events.hpp"

#include <algorithm>

namespace weft::plan {

EventGraph::EventGraph(const OpTable& ops, const Matching& matching,
                       std::optional<std::uint64_t> eager_messages)
    : ops_(ops), matching_(matching) {
  link(matching, eager_messages);
  sort();
}

void EventGraph::link(const Matching& matching, std::optional<std::uint64_t> eager_messages) {
  remote_.assign(ops_.size(), kNoEvent);
  for (OpId op = 0; op < ops_.size(); ++op) {
    const OpKind kind = ops_[op].kind;
    const OpId partner = matching.partner[op];
    if ((kind == OpKind::recv || kind == OpKind::wait) && partner != kNoOp) {
      remote_[op] = start_of(partner);
    }
  }
  if (!eager_messages) return;
  const auto& sends = matching.sends;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (*eager_messages > i) continue;
    const OpId before = sends[i - *eager_messages];
    if (ops_.rank(before) != ops_.rank(sends[i]) || ops_[before].peer != ops_[sends[i]].peer) {
      continue;
    }
    if (const OpId recv = matching.partner[before]; recv != kNoOp) {
      remote_[sends[i]] = start_of(recv);
    }
  }
}

std::size_t EventGraph::predecessors(Event event) const {
  const OpId op = op_of(event);
  if (!is_start(event)) return remote_[op] == kNoEvent ? 1 : 2;
  return ops_.after(op).size() + (matching_.previous[op] == kNoOp ? 0 : 1);
}

Event EventGraph::predecessor(Event event, std::size_t index) const {
  const OpId op = op_of(event);
  if (!is_start(event)) return index == 0 ? start_of(op) : remote_[op];
  const auto after = ops_.after(op);
  if (index < after.size()) return completion_of(ops_.first(op) + after[index]);
  return start_of(matching_.previous[op]);
}

// Depth first against the edges: an event is placed once all its predecessors are.
void EventGraph::sort() {
  constexpr std::uint32_t kUnseen = UINT32_MAX;
  constexpr std::uint32_t kOpen = UINT32_MAX - 1;
  struct Frame {
    Event event;
    std::size_t next;  // predecessor to look at
  };
  position_.assign(size(), kUnseen);
  order_.reserve(size());
  std::vector<Frame> stack;
  for (Event root = 0; root < size(); ++root) {
    if (position_[root] != kUnseen) continue;
    position_[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == predecessors(top.event)) {
        position_[top.event] = static_cast<std::uint32_t>(order_.size());
        order_.push_back(top.event);
        stack.pop_back();
        continue;
      }
      const Event before = predecessor(top.event, top.next++);
      if (position_[before] == kUnseen) {
        position_[before] = kOpen;
        stack.push_back({before, 0});
      } else if (position_[before] == kOpen) {
        const auto begin = std::ranges::find(stack, before, &Frame::event);
        for (auto frame = stack.end(); frame != begin; --frame) {
          cycle_.push_back((frame - 1)->event);
        }
        order_.clear();
        return;
      }
    }
  }
}

}  // namespace weft::plan
