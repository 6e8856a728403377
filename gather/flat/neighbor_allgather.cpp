// Allgather by neighbour exchange: every member exchanges with its neighbours in turn, one after
// the other side; first its own block, then always the two blocks that came last.
//
//   p = 6     0=1 2=3 4=5     own block: each pair has two
//             1=2 3=4 5=0     those two
//             0=1 2=3 4=5     the two that just came
//
// Half as many rounds as the ring, and each with the same partner both ways. The number of members
// must be even; an odd team goes around a ring.
//
// With p members, p even, blocks of m bytes, n = p m:
//   rounds    p / 2
//   messages  p / 2
//   bytes     (p - 1) m
//   copied    m; stage 0, scratch 0 where two blocks of neighbours 2 i, 2 i + 1 are one slice
//
// Source: Chen, Zhang, Zhang, Yuan, Chen, "Performance Evaluation of Allgather Algorithms on
// Terascale Linux Cluster with Fast Ethernet", HPC Asia 2005.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived neighbor_allgather(plan::Builder& builder, const Team& team) {
  const int p = team.size();
  if (p % 2 == 1) return ring_allgather(builder, team);
  Holder holder(builder, team);
  const int side = team.self % 2 == 0 ? 1 : -1;  // the partner of even steps
  const int first = team.self - team.self % 2;   // of the own pair
  holder.send(team.around(team.self, side), run_of(team, team.self, 1));
  holder.settle(team.self);
  holder.receive(team.around(team.self, side), run_of(team, team.around(team.self, side), 1));
  // Step by step an even member gets the pairs behind and in front of its own in turn, and an odd
  // one those in front and behind.
  int last = first;  // the pair that came last
  for (int step = 1; step < p / 2; ++step) {
    const int direction = step % 2 == 1 ? -side : side;
    const int partner = team.around(team.self, direction);
    const int pair = team.around(first, direction * 2 * ((step + 1) / 2));
    holder.send(partner, run_of(team, last, 2));
    holder.receive(partner, run_of(team, pair, 2));
    last = pair;
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
