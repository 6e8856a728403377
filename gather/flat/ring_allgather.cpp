// Allgather around a ring: in each step a member passes on to the next what the one before has just
// given it, beginning with its own block.
//
//   p = 4        step 0     step 1     step 2
//   0 -> 1       block 0    block 3    block 2
//   1 -> 2       block 1    block 0    block 3
//   2 -> 3       block 2    block 1    block 0
//   3 -> 0       block 3    block 2    block 1
//
// With p members, blocks of m bytes, n = p m:
//   rounds    p - 1
//   messages  p - 1
//   bytes     (p - 1) m = (p - 1) / p n
//   copied    m; stage 0, scratch 0 where each block is one slice
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1: T_ring.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived ring_allgather(plan::Builder& builder, const Team& team) {
  Holder holder(builder, team);
  const int next = team.around(team.self, 1);
  const int before = team.around(team.self, -1);
  for (int step = 0; step + 1 < team.size(); ++step) {
    holder.send(next, run_of(team, team.around(team.self, -step), 1));
    holder.receive(before, run_of(team, team.around(before, -step), 1));
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
