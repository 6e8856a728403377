// Bruck's concatenation of any radix r: allgather in the fewest rounds, for any number of members.
//
// Before the round of weight w = r^k a member m has the blocks m .. m + w - 1. In it, for each
// digit d = 1 .. r - 1, it sends them to m - d w, and receives the blocks m + d w .. m + (d + 1) w
// - 1 from m + d w; in the last round only as many as are missing.
//
//   p = 5, r = 2   w = 1: 0 has 0 1;  w = 2: 0 has 0 1 2 3;  w = 4: 0 gets 4, its last
//   p = 5, r = 3   w = 1: 0 has 0 1 2 (of 1 and of 2 at once);  w = 3: 0 gets 3 4 from 3
//
// The blocks go to their targets at once, so nothing is rotated at the end; a message that runs
// over the end of the buffer is packed and unpacked instead. The messages of a round need not wait
// for one another.
//
// With p members, blocks of m bytes, n = p m:
//   rounds    ceil(log_r p); the last, of weight w > 1, follows no other message if p <= w + w / r,
//             since its blocks did not come in the round before: then one fewer
//   messages  for each weight w = r^k < p: min(r - 1, ceil(p / w) - 1)
//   bytes     (p - 1) m
//   copied    m + at most twice the bytes of messages that run over the end
//   scratch   at most what is copied of those, each rounded up to 64; stage 0
//
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All Communications
// in Multiport Message-Passing Systems", TPDS 8(11), 1997, section 4; Thakur, Rabenseifner, Gropp,
// IJHPCA 19(1), 2005, section 4.1.2.
#include <algorithm>

#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived bruck_allgather(plan::Builder& builder, const Team& team, int radix) {
  Holder holder(builder, team);
  const int p = team.size();
  radix = std::min(radix, std::max(p, 2));
  for (std::int64_t weight = 1; weight < p; weight *= radix) {
    const int run = static_cast<int>(weight);
    const auto for_each_digit = [&](const auto& act) {
      for (int distance = run, digit = 1; digit < radix && distance < p; ++digit) {
        act(distance, std::min(run, p - distance));
        distance += run;
      }
    };
    for_each_digit([&](int distance, int count) {
      holder.send(team.around(team.self, -distance), run_of(team, team.self, count));
    });
    if (run == 1) holder.settle(team.self);
    for_each_digit([&](int distance, int count) {
      const int from = team.around(team.self, distance);
      holder.receive(from, run_of(team, from, count));
    });
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
