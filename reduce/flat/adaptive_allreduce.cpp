// Adaptive: one algorithm that chooses its principle anew at each level of the recursion.
//
// At each level some members, side by side in rank order, have partial results of the same part of
// the vector. What they do next is whatever makes the rest of the way cheapest:
//   exchange     pairs send each other all; either half of the members goes on with all of it
//   scatter f    groups of f neighbours reduce a part each; the members with the same part go on
//                with it, and the f exchange their parts on the way back
//   fold k       in the first k pairs one gives its data to the other, and gets the result at last
//
//   p = 6, long vectors:    scatter 3 (0 1 2 | 3 4 5), then scatter 2 (0 3 | 1 4 | 2 5), and back
//   p = 6, short ones:      fold 2 (0 1 | 2 3), then exchange, exchange
//   p = 48, in between:     scatter 2, 2, 3 while parts are long, exchange 2, 2 when they are short
//
// So exchanging at all levels is recursive doubling, scattering by 2 halving and doubling,
// scattering by p at once the ring with direct messages. Costs count a message as `latency` bytes,
// bytes sent as themselves and bytes reduced as a quarter: with f members of a group that each send
// f - 1 messages
//   exchange     latency + n + n/4
//   scatter f    2 (f - 1) latency + (1 - 1/f) (2 n + n/4)
//   fold         2 latency + 2 n + n/4
//
// With p members and vectors of n bytes, all of the sums of what is chosen at each level; scratch
// is two messages that arrive.
//
// All levels combine neighbouring runs of members in order, and groups that combine the same data
// do it alike, so the order is kept and the grouping is the same on all.
//
// Source: the future work of Rabenseifner, "Optimization of Collective Reduction Operations", ICCS
// 2004, section 6.
#include "reduce/flat/adaptive_allreduce.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithm/fold.hpp"
#include "base/cast.hpp"
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

namespace {

// Beyond this, costs only grow with the bytes, and no sum must overflow.
constexpr std::uint64_t kMostBytes = 1ull << 40;

/// What `members` cost in any case: a level of c members or groups starts as many messages as c has
/// bits at least, and the first one moves the bytes about once. Of a latency of 1 byte and less
/// that need not hold, as parts are rounded down.
std::uint64_t least_cost(int members, std::uint64_t bytes, std::uint64_t latency) {
  if (members == 1 || latency < 2) return 0;
  return latency * static_cast<std::uint64_t>(std::bit_width(unsigned(members - 1))) + bytes;
}

/// From 2 on, ascending.
std::vector<int> divisors(int number) {
  std::vector<int> list;
  std::vector<int> large;
  for (int low = 1; low <= number / low; ++low) {
    if (number % low != 0) continue;
    if (low > 1) list.push_back(low);
    if (low < number / low) large.push_back(number / low);
  }
  list.insert(list.end(), large.rbegin(), large.rend());
  return list;
}

}  // namespace

Level LevelChoice::choose(int members, std::uint64_t bytes) {
  return best_below(members, std::min(bytes, kMostBytes), UINT64_MAX).level;
}

LevelChoice::Best LevelChoice::best_below(int members, std::uint64_t bytes, std::uint64_t limit) {
  if (members == 1) return {};
  const Best none{{}, limit};
  if (least_cost(members, bytes, latency_) >= limit) return none;
  const auto known = known_.find({members, bytes});
  if (known != known_.end()) {
    const Best& found = known->second;
    if (found.cost >= limit) return none;
    if (found.level.count != 0) return found;
  }
  Best best = none;
  const auto consider = [&](Principle principle, int count, std::uint64_t cost, int rest,
                            std::uint64_t rest_bytes) {
    if (cost >= best.cost) return;
    cost += best_below(rest, rest_bytes, best.cost - cost).cost;
    if (cost < best.cost) best = {{principle, count}, cost};
  };
  if (members % 2 == 0) {
    consider(Principle::exchange, 2, latency_ + bytes + bytes / 4, members / 2, bytes);
  }
  for (const int count : divisors(members)) {
    const auto group = static_cast<std::uint64_t>(count);
    const std::uint64_t part = bytes / group;
    consider(Principle::scatter, count, (group - 1) * (2 * latency_ + 2 * part + part / 4),
             members / count, part);
  }
  for (const int count : {1, members - static_cast<int>(std::bit_floor(unsigned(members)))}) {
    if (count == 0) continue;
    consider(Principle::fold, count, 2 * latency_ + 2 * bytes + bytes / 4, members - count, bytes);
  }
  return known_[{members, bytes}] = best;
}

namespace {

class Adaptive {
 public:
  Adaptive(Ledger& ledger, const Reduction& reduction, const Parameters& parameters)
      : vector_(ledger, reduction.bytes, reduction.source, reduction.target),
        grain_(reduction.grain),
        choice_(parameters.latency) {
    recurse(reduction.members, reduction.self, vector_.whole());
    vector_.settle(vector_.whole());
  }

 private:
  using Members = std::vector<int>;

  /// Leaves the result of the block, over all members, with each of them.
  void recurse(const Members& members, int self, const Block& block) {
    const auto count = static_cast<int>(members.size());
    if (count == 1 || block.bytes == 0) return;
    const Level level = choice_.choose(count, round_up(block.bytes, grain_));
    switch (level.principle) {
      case Principle::exchange:
        return exchange(members, self, block);
      case Principle::scatter:
        return scatter(members, self, block, level.count);
      case Principle::fold:
        return fold(members, self, block, level.count);
    }
  }

  /// Every `step`-th member from the one at `self` % step on.
  static Members alike(const Members& members, int self, int step) {
    Members list;
    for (auto i = static_cast<std::size_t>(self % step); i < members.size();
         i += static_cast<std::size_t>(step)) {
      list.push_back(members[i]);
    }
    return list;
  }

  void exchange(const Members& members, int self, const Block& block) {
    const int other = self ^ 1;
    const int peer = members[static_cast<std::size_t>(other)];
    vector_.send(peer, block);
    vector_.combine(peer, block, side_of(other, self));
    recurse(alike(members, self, 2), self / 2, block);
  }

  void scatter(const Members& members, int self, const Block& block, int count) {
    const Cut cut(block.bytes, grain_, count);
    const auto part = [&](int place) {
      const Block within = cut.part(place);
      return Block{block.offset + within.offset, within.bytes};
    };
    const int place = self % count;
    const auto first = static_cast<std::size_t>(self - place);
    const auto peer = [&](int other) { return members[first + static_cast<std::size_t>(other)]; };
    for (int step = 1; step < count; ++step) {
      const int to = (place + step) % count;
      vector_.send(peer(to), part(to));
    }
    for (int other = place - 1; other >= 0; --other) {
      vector_.combine(peer(other), part(place), Operand::left);
    }
    for (int other = place + 1; other < count; ++other) {
      vector_.combine(peer(other), part(place), Operand::right);
    }
    recurse(alike(members, self, count), self / count, part(place));
    for (int step = 1; step < count; ++step) {
      vector_.send(peer((place + step) % count), part(place));
      const int from = (place + count - step) % count;
      vector_.receive(peer(from), part(from));
    }
  }

  void fold(const Members& members, int self, const Block& block, int pairs) {
    if (self < 2 * pairs && self % 2 == 1) {
      const int partner = members[static_cast<std::size_t>(self - 1)];
      vector_.send(partner, block);
      vector_.receive(partner, block);
      return;
    }
    Members kept;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i >= 2 * static_cast<std::size_t>(pairs) || i % 2 == 0) kept.push_back(members[i]);
    }
    const bool paired = self < 2 * pairs;
    const int partner = paired ? members[static_cast<std::size_t>(self) + 1] : -1;
    if (paired) vector_.combine(partner, block, Operand::right);
    recurse(kept, paired ? self / 2 : self - pairs, block);
    if (paired) vector_.send(partner, block);
  }

  Accumulator vector_;
  std::uint64_t grain_;
  LevelChoice choice_;
};

}  // namespace

void allreduce_adaptive(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const Adaptive adaptive(ledger, reduction, parameters);
}

}  // namespace weft::reduce
