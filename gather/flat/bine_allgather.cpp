// Allgather by a Bine butterfly (algorithm/bine.hpp): recursive doubling that begins with the
// farthest partner, when there is one block to send, and ends with a neighbour, who gets half of
// all.
//
//   p = 8    0-3 2-5 4-7 6-1    1 block each way
//            0-7 2-1 4-3 6-5    2 blocks: those of 0 and 3, of 7 and 4
//            0-1 2-3 4-5 6-7    4 blocks: those of 0 3 4 7, of 1 2 5 6
//
// Where p is no power of two, r = p - 2^floor(lg p) members first give their block to a neighbour,
// and get all others from it in the end.
//
// With p members, blocks of m bytes, n = p m:
//              p = 2^k         else, with p' = 2^floor(lg p)
//   rounds     lg p            lg p' + 2; one less where the neighbour's block is needed late only
//   messages   lg p            lg p', with a removed neighbour one more; a removed one 1
//   bytes      (p - 1) m       received (p - 1) m by each
//   copied     at most m, and twice what is sent and received: blocks of a message lie apart, and
//              are packed; neither those of the first message nor of two members
//   scratch    at most what is packed, each message rounded up to 64; stage 0
//
// Source: De Sensi et al., "Bine Trees", SC 2025, arXiv:2508.17311: distance-halving allgather.
#include <algorithm>

#include "algorithm/bine.hpp"
#include "algorithm/fold.hpp"
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

namespace {

using algorithm::BineButterfly;
using algorithm::Fold;

/// What the members stand for that have `bits` bits of `label`, ascending, so that neighbours' lie
/// side by side.
std::vector<int> blocks_of(const BineButterfly& butterfly, const Fold& fold, int label, int bits) {
  std::vector<int> blocks;
  const int step = 1 << bits;
  for (int other = label % step; other < butterfly.members(); other += step) {
    const int member = fold.member(butterfly.member_of(other));
    blocks.push_back(member);
    if (fold.is_paired(member)) blocks.push_back(fold.partner(member));
  }
  std::ranges::sort(blocks);
  return blocks;
}

}  // namespace

Arrived bine_allgather(plan::Builder& builder, const Team& team) {
  Holder holder(builder, team);
  const Fold fold(team.size());
  const int self = team.self;
  const int partner = fold.is_paired(self) ? fold.partner(self) : -1;
  if (!fold.is_kept(self)) {
    holder.send(partner, run_of(team, self, 1));
    holder.settle(self);
    holder.receive(partner, all_of(team));
    return std::move(holder).finish();
  }
  if (partner >= 0) holder.receive(partner, run_of(team, partner, 1));
  const BineButterfly butterfly(fold.power());
  const int index = fold.index(self);
  for (int step = butterfly.steps() - 1; step >= 0; --step) {
    const int other = butterfly.partner(index, step);
    holder.send(fold.member(other), blocks_of(butterfly, fold, butterfly.label(index), step + 1));
    holder.settle(self);
    holder.receive(fold.member(other),
                   blocks_of(butterfly, fold, butterfly.label(other), step + 1));
  }
  if (partner >= 0) holder.send(partner, all_of(team));
  return std::move(holder).finish();
}

}  // namespace weft::gather
