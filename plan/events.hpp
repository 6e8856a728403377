// The events of an execution and what must come before what. Shared by the verifier, the cost
// sheet and the drawing.
//
// Each op has a start and a completion. The edges that always hold (the weakest order):
//   start of an op           -> its completion
//   completion of a          -> start of each op that names a in its `after` list
//   start of a send          -> start of the next send to the same peer; so for recv, signal, wait
//   start of a send, signal  -> completion of its recv, wait
// Channels that hold `eager_messages` of each ordered pair of ranks add
//   start of the k-th recv   -> completion of the send that is eager_messages after the k-th.
// None at all is rendezvous: then a send completes only once its own recv has started.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/matching.hpp"

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

/// A view of `ops` and `matching`, which must outlive it.
class EventGraph {
 public:
  /// No `eager_messages`: the weakest order.
  EventGraph(const OpTable& ops, const Matching& matching,
             std::optional<std::uint64_t> eager_messages = std::nullopt);

  Event size() const { return 2 * ops_.size(); }

  template <class Visit>
  void for_each_predecessor(Event event, Visit visit) const {
    for (std::size_t i = 0; i < predecessors(event); ++i) visit(predecessor(event, i));
  }

  /// All events, each behind its predecessors; empty when there is a cycle.
  std::span<const Event> order() const { return order_; }
  /// The index in order().
  std::uint32_t position(Event event) const { return position_[event]; }
  /// A cycle, each event a predecessor of the next and the last of the first; empty when none is.
  std::span<const Event> cycle() const { return cycle_; }

 private:
  std::size_t predecessors(Event event) const;
  Event predecessor(Event event, std::size_t index) const;
  void link(const Matching& matching, std::optional<std::uint64_t> eager_messages);
  void sort();

  const OpTable& ops_;
  const Matching& matching_;
  std::vector<Event> remote_;  // by op: the start elsewhere that its completion waits for
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
    graph.for_each_predecessor(event, [&](Event before) {
      const bool message = ops.rank(op_of(before)) != ops.rank(op_of(event));
      longest = std::max(longest, length[before] + (message ? weight(op_of(event)) : 0));
    });
    length[event] = longest;
  }
  return length;
}

}  // namespace weft::plan
