// Reachability in the event graph: tests whether ops are ordered.
#pragma once

#include <functional>
#include <vector>

#include "plan/verify/events.hpp"

namespace weft::plan {

/// Collects pairs of ops of which the first must be complete before the second starts, and tests
/// all of them together: one search backward from each second op, no further than its first ops.
class OrderQueries {
 public:
  OrderQueries(const OpTable& ops, const EventGraph& graph) : ops_(ops), graph_(graph) {}

  /// `before` must stand in front of `behind` in graph.order(). The same op twice is no order.
  void add(OpId before, OpId behind);

  /// Calls `visit` with each pair that is not ordered, until it returns false.
  void for_each_unordered(const std::function<bool(OpId before, OpId behind)>& visit);

 private:
  struct Pair {
    OpId behind;
    OpId before;
    auto operator<=>(const Pair&) const = default;
  };

  void search(std::span<const Pair> group);

  const OpTable& ops_;
  const EventGraph& graph_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> seen_;    // by event: the last search that came by
  std::vector<std::uint32_t> wanted_;  // by op: the last search for it
  std::vector<Event> stack_;
  std::uint32_t search_ = 0;
};

/// Tests whether ops lie between events of other ranks.
class Visits {
 public:
  Visits(const OpTable& ops, const EventGraph& graph) : ops_(ops), graph_(graph) {}

  /// Some event of `rank` comes before the start of `op`.
  bool follows_any_of(OpId op, int rank);
  /// Some event of `rank` comes after the completion of `op`.
  bool precedes_any_of(OpId op, int rank);

 private:
  template <class Next>
  bool reaches(Event from, int rank, Next next_of);
  void link_successors();

  const OpTable& ops_;
  const EventGraph& graph_;
  std::vector<std::size_t> successors_begin_;  // by event, and one more; built when first needed
  std::vector<Event> successors_;
  std::vector<std::uint32_t> seen_;
  std::vector<Event> queue_;
  std::uint32_t search_ = 0;
};

}  // namespace weft::plan
