// Barrier by dissemination, of any radix r: in the round of weight w = r^k a member tells those at
// the distances w, 2 w, .. (r - 1) w, and hears from as many before it; so it knows of r^(k+1).
//
//   p = 5, r = 2     0 -> 1, 1 -> 2, ..     0 -> 2, 1 -> 3, ..     0 -> 4, 1 -> 0, ..
//
// With p members:
//   rounds    ceil(log_r p)
//   messages  of each member, for each weight w = r^k < p: min(r - 1, ceil(p / w) - 1); lg p of
//             radix 2
//
// Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization", Int. J. Parallel
// Programming 17(1), 1988; Vadhiyar, Fagg, Dongarra, IJHPCA 18(1), 2004, Table 1 (distributed
// binomial).
#include <algorithm>

#include "gather/flat/barriers.hpp"

namespace weft::gather {

Ops dissemination_barrier(plan::Builder& builder, const BarrierGroup& group, int radix) {
  Notes notes(builder, group);
  const std::int64_t p = group.size();
  const std::int64_t most = std::min<std::int64_t>(radix, std::max<std::int64_t>(p, 2));
  Ops known = group.ready;
  for (std::int64_t weight = 1; weight < p; weight *= most) {
    const std::int64_t end = std::min(weight * most, p);
    for (std::int64_t distance = weight; distance < end; distance += weight) {
      notes.tell(group.around(group.self, static_cast<int>(distance)), known);
    }
    Ops heard = group.ready;
    for (std::int64_t distance = weight; distance < end; distance += weight) {
      heard.push_back(notes.hear(group.around(group.self, -static_cast<int>(distance))));
    }
    known.insert(known.end(), heard.begin(), heard.end());
  }
  return known;
}

}  // namespace weft::gather
