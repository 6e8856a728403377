// Allgather as a gather to the first member and a broadcast of all blocks as one, along one tree.
//
//   1 --.                      .--> 1
//   2 ----> 0 has all blocks -----> 2
//   3 --'                      '--> 3
//
// With p members, blocks of m bytes, n = p m: the gather's costs and those of a broadcast of n
// bytes. A member's own block comes back with the rest, and is not copied.
//   rounds    twice the depth of the tree
//   messages  2 (p - 1) in all
//   bytes     the gather's and (p - 1) n
//
// Source: Vadhiyar, Fagg, Dongarra, "Towards an Accurate Model for Collective Communications",
// IJHPCA 18(1), 2004, Table 1.
#include "gather/flat/algorithms.hpp"

namespace weft::gather {

Arrived gather_broadcast(plan::Builder& builder, const Team& team, Topology topology, int radix) {
  Team gathered = team;
  gathered.root = 0;
  gathered.target = [&team](int member, int block) {
    return member == 0 ? team.target(member, block) : Slices();
  };
  const Arrived at_root = tree_gather(builder, gathered, topology, radix);
  Team spread = team;
  spread.root = 0;
  spread.holds = [](int member, int /*block*/) { return member == 0; };
  spread.may_hold = nullptr;
  spread.source = [&team](int member, int block) {
    const Slices target = team.target(member, block);
    return target.empty() ? team.source(member, block) : target;
  };
  spread.target = [&team](int member, int block) {
    return member == 0 ? Slices() : team.target(member, block);
  };
  spread.ready = [&at_root](int block) { return at_root[block]; };
  return tree_broadcast(builder, spread, topology, radix);
}

}  // namespace weft::gather
