// Checks of the verifier, one file each. verify() runs them in this order and stops after the first
// whose findings make the next ones meaningless.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/verify/contract.hpp"
#include "plan/verify/events.hpp"
#include "plan/verify/verify.hpp"

namespace weft::plan {

/// Collects findings up to a limit.
class Findings {
 public:
  explicit Findings(std::size_t limit) : limit_(limit == 0 ? 1 : limit) {}

  bool full() const { return list_.size() >= limit_; }
  bool any() const { return !list_.empty(); }

  void add(Flaw flaw, int rank, OpId id, std::string detail) {
    if (!full()) list_.push_back({flaw, rank, id, std::move(detail)});
  }
  /// About one op: the detail begins with its text.
  void add(Flaw flaw, const OpTable& ops, OpId op, std::string_view detail);

  std::vector<Finding> take() && { return std::move(list_); }

 private:
  std::size_t limit_;
  std::vector<Finding> list_;
};

/// Shape: there is a plan of each rank, for this problem, and a node for each.
void check_shape(const Problem& problem, std::span<const int> node_of_rank,
                 std::span<const Plan> plans, Findings& findings);
/// The same of a neighbourhood exchange; both ends agree on each edge.
void check_shape(std::span<const Edges> edges, std::span<const int> node_of_rank,
                 std::span<const Plan> plans, Findings& findings);

/// Bounds: each access lies in a space that the op's rank may reach. Needs the shape.
void check_bounds(const OpTable& ops, std::span<const int> node_of_rank, Findings& findings);

/// Matching: nothing unmatched, nothing of two sizes.
void check_matching(const OpTable& ops, const Matching& matching, Findings& findings);

/// Deadlock: no cycle under any of the bufferings. Needs the matching.
void check_deadlock(const OpTable& ops, const Matching& matching,
                    std::span<const Buffering> bufferings, Findings& findings);

/// "start of op 1 of rank 0 (...) <- ...", cut at the length of a line.
std::string describe_cycle(const OpTable& ops, std::span<const Event> cycle);

/// Races, and peers in a caller's buffer outside its call. Needs bounds and an acyclic `graph` of
/// the weakest order.
void check_races(const OpTable& ops, const EventGraph& graph, Findings& findings);

/// Delivery, undefined reads, cut elements and groupings, by running the ops in one order on
/// symbolic memory: without races all orders give the same. `expected_on` gives the contract of a
/// rank. Needs the same.
void check_delivery(const Problem& problem,
                    const std::function<std::vector<Expectation>(int rank)>& expected_on,
                    const OpTable& ops, const Matching& matching, const EventGraph& graph,
                    Findings& findings);

/// Synchronization, for barriers in place of delivery: no rank leaves before all have entered. The
/// bytes of a barrier's messages do not matter. Needs the same.
void check_synchronization(const OpTable& ops, const EventGraph& graph, Findings& findings);

}  // namespace weft::plan
