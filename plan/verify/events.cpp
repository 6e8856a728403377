#include "plan/verify/events.hpp"

#include <algorithm>

namespace weft::plan {

namespace {

/// By op: the start elsewhere that its completion waits for, or kNoEvent.
std::vector<Event> remote_starts(const OpTable& ops, const Matching& matching,
                                 std::optional<std::uint64_t> eager_messages) {
  std::vector<Event> remote(ops.size(), kNoEvent);
  for (OpId op = 0; op < ops.size(); ++op) {
    const OpKind kind = ops[op].kind;
    if (kind != OpKind::recv && kind != OpKind::wait) continue;
    if (matching.partner[op] != kNoOp) remote[op] = start_of(matching.partner[op]);
  }
  if (!eager_messages) return remote;
  const auto& sends = matching.sends;
  for (std::size_t i = *eager_messages; i < sends.size(); ++i) {
    const OpId before = sends[i - *eager_messages];
    const bool same_channel =
        ops.rank(before) == ops.rank(sends[i]) && ops[before].peer == ops[sends[i]].peer;
    if (same_channel && matching.partner[before] != kNoOp) {
      remote[sends[i]] = start_of(matching.partner[before]);
    }
  }
  return remote;
}

}  // namespace

EventGraph::EventGraph(const OpTable& ops, const Matching& matching,
                       std::optional<std::uint64_t> eager_messages)
    : position_(2 * std::size_t{ops.size()}) {
  link(ops, matching, remote_starts(ops, matching, eager_messages));
  sort();
}

void EventGraph::link(const OpTable& ops, const Matching& matching,
                      const std::vector<Event>& remote) {
  predecessors_begin_.reserve(position_.size() + 1);
  predecessors_begin_.push_back(0);
  for (OpId op = 0; op < ops.size(); ++op) {
    const OpId first = ops.first(op);
    for (const OpId before : ops.after(op)) predecessors_.push_back(completion_of(first + before));
    if (matching.previous[op] != kNoOp) predecessors_.push_back(start_of(matching.previous[op]));
    predecessors_begin_.push_back(predecessors_.size());
    predecessors_.push_back(start_of(op));
    if (remote[op] != kNoEvent) predecessors_.push_back(remote[op]);
    predecessors_begin_.push_back(predecessors_.size());
  }
}

// Depth first against the edges: an event is placed once all its predecessors are.
void EventGraph::sort() {
  constexpr std::uint32_t kUnseen = UINT32_MAX;
  constexpr std::uint32_t kOpen = UINT32_MAX - 1;
  struct Frame {
    Event event;
    std::size_t next;  // predecessor to look at
  };
  std::ranges::fill(position_, kUnseen);
  order_.reserve(size());
  std::vector<Frame> stack;
  for (Event root = 0; root < size(); ++root) {
    if (position_[root] != kUnseen) continue;
    position_[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const auto before_top = predecessors(top.event);
      if (top.next == before_top.size()) {
        position_[top.event] = static_cast<std::uint32_t>(order_.size());
        order_.push_back(top.event);
        stack.pop_back();
        continue;
      }
      const Event before = before_top[top.next++];
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
