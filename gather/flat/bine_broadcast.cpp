// Broadcast along a Bine tree (algorithm/bine.hpp): a binomial tree whose edges are two thirds as
// long.
//
//   root 2, p = 8:   2 -> 5      2 -> 1, 5 -> 6      1 -> 0, 2 -> 3, 5 -> 4, 6 -> 7
//
// With p members, n bytes, as with the binomial tree:
//   rounds    floor(lg p)
//   messages  of the root ceil(lg p); p - 1 in all
//   bytes     n along each edge, (p - 1) n in all; every member receives n
//   copied, stage, scratch 0 where the data are one slice
// With p = 2^k, the root's edges are |1 - (-2)^j| / 3 long, j = k .. 1, where those of the binomial
// tree are 2^(j - 1); so are those of every other member for its own k.
//
// Source: De Sensi et al., "Bine Trees", SC 2025, arXiv:2508.17311, distance-halving trees.
#include "algorithm/bine.hpp"
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived bine_broadcast(plan::Builder& builder, const Team& team) {
  Holder holder(builder, team);
  const int shift = team.root - algorithm::bine_head(team.size());
  const auto place = algorithm::bine_place(team.size(), team.around(team.self, -shift));
  const std::vector<int> blocks = all_of(team);
  if (place.parent >= 0) holder.receive(team.around(place.parent, shift), blocks);
  for (const int child : place.children) holder.send(team.around(child, shift), blocks);
  return std::move(holder).finish();
}

}  // namespace weft::gather
