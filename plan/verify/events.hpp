// Event graph: the events of an execution and their order. Shared by the verifier, the cost sheet
// and the drawing.
//
// Each op has a start and a completion. The edges that always hold (the weakest order):
//   start of an op           -> its completion
//   completion of a          -> start of each op that names a in its `after` list
//   start of a send          -> start of the next send to the same peer; so for recv, signal, wait
//   start of a send, signal  -> completion of its recv, wait
// Channels that hold `eager_messages` of each ordered pair of ranks add
//   start of the k-th recv   -> completion of the send that is eager_messages after the k-th.
// With eager_messages = 0, rendezvous, a send completes only once its own recv has started.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/verify/matching.hpp"

namespace weft::plan {

using Event = std::uint32_t;
inline constexpr Event kNoEvent = UINT32_MAX;

constexpr Event start_of(OpId op) {
  return 2 * op;
}
constexpr Event completion_of(OpId op) {
  return 2 * op + 1;
}
constexpr OpId op_of(Event event) {
  return event / 2;
}
constexpr bool is_start(Event event) {
  return event % 2 == 0;
}

class EventGraph {
 public:
  /// No `eager_messages`: the weakest order.
  EventGraph(const OpTable& ops, const Matching& matching,
             std::optional<std::uint64_t> eager_messages = std::nullopt);

  Event size() const { return static_cast<Event>(position_.size()); }

  std::span<const Event> predecessors(Event event) const {
    return std::span(predecessors_)
        .subspan(predecessors_begin_[event],
                 predecessors_begin_[event + 1] - predecessors_begin_[event]);
  }

  /// All events, each behind its predecessors; empty when there is a cycle.
  std::span<const Event> order() const { return order_; }
  /// The index in order().
  std::uint32_t position(Event event) const { return position_[event]; }
  /// A cycle, each event a predecessor of the next and the last of the first; empty when none is.
  std::span<const Event> cycle() const { return cycle_; }

 private:
  void link(const OpTable& ops, const Matching& matching, const std::vector<Event>& remote);
  void sort();

  std::vector<std::size_t> predecessors_begin_;  // by event, and one more
  std::vector<Event> predecessors_;
  std::vector<Event> order_;
  std::vector<std::uint32_t> position_;
  std::vector<Event> cycle_;
};

/// The length of the longest chain that ends in each event of the weakest order, where a message
/// or signal to `op` (a recv or wait), from start to completion, is as long as `weight(op)` says.
template <class Weight>
std::vector<std::uint32_t> longest_chains(const EventGraph& graph, const OpTable& ops,
                                          Weight weight) {
  std::vector<std::uint32_t> length(graph.size());
  for (const Event event : graph.order()) {
    std::uint32_t longest = 0;
    for (const Event before : graph.predecessors(event)) {
      const bool message = ops.rank(op_of(before)) != ops.rank(op_of(event));
      longest = std::max(longest, length[before] + (message ? weight(op_of(event)) : 0));
    }
    length[event] = longest;
  }
  return length;
}

}  // namespace weft::plan
