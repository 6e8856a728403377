// Matching of sends with recvs and of signals with waits. Shared by the verifier and the cost
// sheet.
#pragma once

#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weft::plan {

/// The ops of a set of plans, one a rank, in one numbering: those of rank 0 first, each rank's in
/// list order. A view: the plans must outlive it.
class OpTable {
 public:
  explicit OpTable(std::span<const Plan> plans);

  std::span<const Plan> plans() const { return plans_; }
  int ranks() const { return static_cast<int>(plans_.size()); }
  OpId size() const { return static_cast<OpId>(rank_.size()); }
  int rank(OpId op) const { return rank_[op]; }
  /// The number of the first op of the same rank: add it to the ids that the rank's plan uses.
  OpId first(OpId op) const { return first_[static_cast<std::size_t>(rank_[op])]; }
  OpId id(OpId op) const { return op - first(op); }
  const Op& operator[](OpId op) const { return plan(op).ops()[id(op)]; }
  /// Ids in the rank's own plan.
  std::span<const OpId> after(OpId op) const { return plan(op).after(id(op)); }

 private:
  const Plan& plan(OpId op) const { return plans_[static_cast<std::size_t>(rank_[op])]; }

  std::span<const Plan> plans_;
  std::vector<OpId> first_;  // by rank
  std::vector<int> rank_;    // by op
};

struct Matching {
  std::vector<OpId> partner;    // by op: the other end; kNoOp for copies, reduces, the unmatched
  std::vector<OpId> previous;   // by op: the op to the same peer that starts before it, or kNoOp
  std::vector<OpId> sends;      // channel by channel, each channel's in order
  std::vector<OpId> unmatched;  // ops without another end
  std::vector<OpId> unequal;    // recvs of another size than their send
};

/// Every peer must be one of the ranks.
Matching match(const OpTable& ops);

}  // namespace weft::plan
