// Allgather by recursive doubling: in step k a member exchanges all that it has with the one at
// distance 2^k, so that what it has doubles.
//
//   p = 8    0-1 2-3 4-5 6-7    1 block each way
//            0-2 1-3 4-6 5-7    2 blocks
//            0-4 1-5 2-6 3-7    4 blocks
//
// Any p: in step k the members are in aligned groups of 2^(k+1), whose two halves exchange. In the
// last group the upper half may have only c < 2^k members. Then the members of the lower half from
// c on have no partner, and get the upper half's blocks within the lower one: those that have them
// serve as many others, so that after ceil(lg(2^k / c)) more messages all do.
//
//   p = 5, step 2: 0-4, then 0 -> 1, then 0 -> 2 and 1 -> 3: block 4
//
// With p members, blocks of m bytes, n = p m:
//   rounds    lg p for powers of two; else at most 2 ceil(lg p)
//   messages  lg p of each member for powers of two; else at most 2 ceil(lg p)
//   bytes     received (p - 1) m by each member, for any p; sent as many for powers of two
//   copied    m; stage 0, scratch 0 where the blocks lie side by side
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1.1: T_rec_dbl, and the bound
// for any p.
#include <algorithm>

#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

namespace {

/// `count` members of the lower half from `base` on have what the upper half had, and pass it on
/// until all `half` of them do.
void pass_on(Holder& holder, const Team& team, int base, int half, int count,
             std::span<const int> blocks) {
  const int place = team.self - base;
  for (; count < half; count *= 2) {
    const int served = std::min(2 * count, half);
    if (place < count && place + count < served) holder.send(team.self + count, blocks);
    if (place >= count && place < served) holder.receive(team.self - count, blocks);
  }
}

}  // namespace

Arrived doubling_allgather(plan::Builder& builder, const Team& team) {
  Holder holder(builder, team);
  const int p = team.size();
  for (int half = 1; half < p; half *= 2) {
    const int base = team.self / (2 * half) * (2 * half);
    const int upper = base + half;
    if (upper >= p) continue;
    const int in_upper = std::min(half, p - upper);
    const auto low_blocks = run_of(team, base, half);
    const auto high_blocks = run_of(team, upper, in_upper);
    if (team.self >= upper) {
      holder.send(team.self - half, high_blocks);
      holder.settle(team.self);
      holder.receive(team.self - half, low_blocks);
      continue;
    }
    if (team.self + half < p) {
      holder.send(team.self + half, low_blocks);
      holder.settle(team.self);
      holder.receive(team.self + half, high_blocks);
    }
    pass_on(holder, team, base, half, in_upper, high_blocks);
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
