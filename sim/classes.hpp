// Classes of ranks that do the same, found from a symmetric machine and from some of their plans.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "hierarchy/machine.hpp"
#include "sim/members.hpp"
#include "sim/program.hpp"
#include "sim/simulator.hpp"

namespace weft::sim {

/// A member for each class, and where what it waits for comes from: the member that stands for the
/// rank from which it comes.
struct Classes {
  Members members;
  ClassPlans plans;
  /// True where all nodes are like that of the members, so that all messages can be counted.
  bool alike = false;
};

struct ClassOptions {
  int root = 0;  ///< of rooted collectives: its node is looked at first
  /// The most plans that are made, of the size of the first one; in any case those of 2^17 ops, and
  /// of 16 ops a rank.
  std::uint64_t most_plans = 1 << 14;
};

/// Two ranks are of one class where their plans have one shape, and as many ranks stand between
/// them and one that begins by itself: so a tree's ranks are of different classes by their level.
/// Of a node, plans are made of places far apart only, and those between are taken to be like them
/// where these are alike; further ones are looked at where they are not. The same holds for the
/// peers from which a member receives: the messages of a rank to many peers are of the class of
/// those of the ranks that are looked at. So an alltoall's plans are a few, of any number of ranks.
///
/// Instead a reason, in words, why there are none: the nodes are not alike, the ranks form a chain,
/// peers are too irregular for `most_plans`, or plans do not match.
std::variant<Classes, std::string> find_classes(const PlanSource& plan_of_rank,
                                                const hierarchy::Machine& machine,
                                                const ClassOptions& options);

/// Simulates one rank for each class; the reason, in words, where ranks of a class would wait for
/// one another, which they do not.
std::variant<Result, std::string> simulate(const Classes& classes,
                                           const hierarchy::Machine& machine,
                                           const Hardware& hardware, const Options& options);

}  // namespace weft::sim
