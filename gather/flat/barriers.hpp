// Flat barriers, one algorithm a file: they add their ops for one group to a plan under
// construction. registry/flat_algorithms.cpp gives them their names.
#pragma once

#include <functional>

#include "algorithm/barrier_group.hpp"
#include "algorithm/parameters.hpp"
#include "gather/flat/tree.hpp"

namespace weft::gather {

using algorithm::BarrierGroup;
using algorithm::Parameters;

/// Tells members of a group, and hears from them, that somebody has come.
class Notes {
 public:
  /// The arguments must live longer.
  Notes(plan::Builder& builder, const BarrierGroup& group) : builder_(builder), group_(group) {}

  void tell(int member, plan::After after);
  plan::OpId hear(int member);

 private:
  plan::Builder& builder_;
  const BarrierGroup& group_;
  plan::Slice byte_;
};

/// Each returns the ops after which all members have come. Notes come in any order, so those that
/// a member awaits follow nothing.
Ops ring_barrier(plan::Builder& builder, const BarrierGroup& group);
Ops dissemination_barrier(plan::Builder& builder, const BarrierGroup& group, int radix = 2);
Ops tournament_barrier(plan::Builder& builder, const BarrierGroup& group);
/// What is done where the first member knows that all have come, before it lets the others go.
using Between = std::function<Ops(const Ops& all_are_here)>;
Ops tree_barrier(plan::Builder& builder, const BarrierGroup& group, Topology topology,
                 int radix = 2, const Between& between = {});

/// Has a member leave last: behind `all_are_here`, which its ops give, every other one tells it
/// that it leaves. p - 1 messages more.
void leave_last(plan::Builder& builder, const BarrierGroup& group, int member,
                const Ops& all_are_here);

// The same as algorithm::EmitBarrier, for the registry.

template <Topology topology>
Ops barrier_along(plan::Builder& builder, const BarrierGroup& group, const Parameters& parameters) {
  return tree_barrier(builder, group, topology, parameters.radix);
}

template <Ops (*fragment)(plan::Builder&, const BarrierGroup&)>
Ops barrier_by(plan::Builder& builder, const BarrierGroup& group,
               const Parameters& /*parameters*/) {
  return fragment(builder, group);
}

inline Ops barrier_by_dissemination(plan::Builder& builder, const BarrierGroup& group,
                                    const Parameters& parameters) {
  return dissemination_barrier(builder, group, parameters.radix);
}

}  // namespace weft::gather
