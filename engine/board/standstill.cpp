#include "engine/board/standstill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace weft::engine::board {

namespace {

/// The call that a rank is in, or sets up; null: it is in none.
const SeenCall* current(const SeenRank& rank) {
  if (rank.phase == Phase::failed) return nullptr;
  if (rank.setup) return &*rank.setup;
  const SeenCall* last = rank.last();
  return last != nullptr && last->is_under_way() ? last : nullptr;
}

/// What is set up has no number yet: that of the next call.
std::uint32_t number_of(const SeenRank& rank) {
  const std::uint32_t last = rank.last() == nullptr ? 0 : rank.last()->number;
  return rank.setup ? last + 1 : last;
}

std::tuple<plan::Collective, int, std::uint64_t> arguments(const SeenCall& call) {
  return {call.collective, is_rooted(call.collective) ? call.root : 0, call.bytes};
}

/// Looks for the first call of which ranks have made different ones.
class Difference {
 public:
  explicit Difference(const SeenCommunicator& seen) : seen_(seen) {
    std::set<std::uint32_t> numbers;
    for (const SeenRank& rank : seen.ranks) {
      for (const SeenCall& call : rank.calls) numbers.insert(call.number);
      if (rank.setup) numbers.insert(number_of(rank));
    }
    for (const std::uint32_t number : numbers) {
      std::vector<Group> groups = groups_at(number);
      if (groups.size() > 1) {
        std::ranges::stable_sort(
            groups, [](const Group& a, const Group& b) { return a.ranks.size() > b.ranks.size(); });
        different = std::move(groups);
        return;
      }
      if (!groups.empty()) last_common = groups.front().call;
    }
    last_common.reset();
  }

  std::vector<Group> different;
  std::optional<SeenCall> last_common;

 private:
  std::vector<Group> groups_at(std::uint32_t number) const {
    std::vector<Group> groups;
    std::vector<bool> of_setup;
    for (const SeenRank& rank : seen_.ranks) {
      const bool sets_up = rank.setup && number_of(rank) == number;
      const auto made = std::ranges::find(rank.calls, number, &SeenCall::number);
      if (!sets_up && made == rank.calls.end()) continue;
      SeenCall call = sets_up ? *rank.setup : *made;
      call.number = number;
      std::size_t at = 0;
      while (at < groups.size()) {
        // A digest covers all arguments, and is not known before the call is made.
        const bool by_digest = !sets_up && !of_setup[at];
        if (by_digest ? groups[at].call.digest == call.digest
                      : arguments(groups[at].call) == arguments(call)) {
          break;
        }
        ++at;
      }
      if (at == groups.size()) {
        groups.push_back({{}, call});
        of_setup.push_back(sets_up);
      }
      // Of ranks on other nodes less is known.
      if (groups[at].call.algorithm.empty() && !sets_up) groups[at].call = call;
      groups[at].ranks.push_back(rank.rank);
    }
    return groups;
  }

  const SeenCommunicator& seen_;
};

/// Who waits for whom.
class Waits {
 public:
  Waits(const SeenCommunicator& seen, const Standstill& found) : seen_(seen) {
    for (const SeenRank& rank : seen.ranks) {
      if (rank.process.is_dead()) continue;
      for (const SeenWait& wait : rank.waits) add(rank.rank, wait.peer);
      if (!rank.setup) continue;
      for (const auto* late : {&found.absent, &found.dead, &found.stopped, &found.unknown}) {
        for (const int missing : *late) add(rank.rank, missing);
      }
    }
  }

  std::optional<Edge> blocking() const {
    std::optional<Edge> best;
    std::tuple<bool, std::size_t, int, std::size_t> best_weight;
    for (const auto& [from, targets] : out_) {
      for (const int to : targets) {
        // The end of a chain before circles; of ends the one that most wait for, then the one that
        // needs no explanation; then the waiter that most others wait for.
        const Edge::Target target = target_of(from, to);
        const bool is_end = !out_.contains(to);
        const std::tuple weight{is_end, waiters_of(to).size(), rank_of(target),
                                waiters_of(from).size()};
        if (best && weight <= best_weight) continue;
        best_weight = weight;
        best = Edge{from, to, wait_for(from, to), target, 0};
      }
    }
    if (!best) return best;
    std::set<int> others = waiters_of(best->to);
    others.erase(best->from);
    others.erase(best->to);
    best->dependents = static_cast<int>(others.size());
    return best;
  }

 private:
  void add(int from, int to) {
    if (from == to) return;
    out_[from].insert(to);
    in_[to].insert(from);
  }

  /// Those from which one gets to `rank`.
  const std::set<int>& waiters_of(int rank) const {
    const auto [known, is_new] = waiters_.try_emplace(rank);
    std::set<int>& reached = known->second;
    if (!is_new) return reached;
    std::vector<int> left{rank};
    while (!left.empty()) {
      const auto at = in_.find(left.back());
      left.pop_back();
      if (at == in_.end()) continue;
      for (const int before : at->second) {
        if (reached.insert(before).second) left.push_back(before);
      }
    }
    return reached;
  }

  static int rank_of(Edge::Target target) {
    switch (target) {
      case Edge::Target::dead:
        return 6;
      case Edge::Target::stopped:
        return 5;
      case Edge::Target::absent:
        return 4;
      case Edge::Target::gone_on:
        return 3;
      case Edge::Target::in_turn:
        return 2;
      case Edge::Target::busy:
        return 1;
      case Edge::Target::unknown:
        break;
    }
    return 0;
  }

  const SeenRank* find(int rank) const {
    const auto at = std::ranges::find(seen_.ranks, rank, &SeenRank::rank);
    return at == seen_.ranks.end() ? nullptr : &*at;
  }

  std::optional<SeenWait> wait_for(int from, int to) const {
    const SeenRank* rank = find(from);
    if (rank == nullptr) return std::nullopt;
    const auto at = std::ranges::find(rank->waits, to, &SeenWait::peer);
    return at == rank->waits.end() ? std::nullopt : std::optional(*at);
  }

  Edge::Target target_of(int from, int to) const {
    using enum Edge::Target;
    const SeenRank* target = find(to);
    if (target == nullptr) return unknown;
    if (target->process.is_dead()) return dead;
    if (target->process.is_stopped()) return stopped;
    if (!target->has_posting) return unknown;
    const SeenRank* waiter = find(from);
    const std::uint32_t number = waiter == nullptr ? 0 : number_of(*waiter);
    if (number_of(*target) < number) return absent;
    if (waiters_of(from).contains(to)) return in_turn;
    if (number_of(*target) > number || current(*target) == nullptr) return gone_on;
    return busy;
  }

  const SeenCommunicator& seen_;
  std::map<int, std::set<int>> out_, in_;
  mutable std::map<int, std::set<int>> waiters_;  // those that were asked for
};

void find_late(const SeenCommunicator& seen, std::uint32_t first, Standstill& found) {
  int next = 0;
  for (const SeenRank& rank : seen.ranks) {
    while (next < rank.rank) found.unknown.push_back(next++);
    next = rank.rank + 1;
    if (rank.process.is_dead()) {
      found.dead.push_back(rank.rank);
      continue;
    }
    if (rank.process.is_stopped()) {
      found.stopped.push_back(rank.rank);
    } else if (!rank.has_posting) {
      found.unknown.push_back(rank.rank);
    } else if (current(rank) == nullptr && number_of(rank) < first) {
      found.absent.push_back(rank.rank);
    }
  }
  while (next < seen.size) found.unknown.push_back(next++);
}

}  // namespace

Standstill judge(const SeenCommunicator& seen) {
  Standstill found;
  found.communicator = seen.number;
  found.size = seen.size;
  std::uint32_t first = 0;
  for (const SeenRank& rank : seen.ranks) {
    const SeenCall* call = current(rank);
    if (call == nullptr || rank.process.is_dead()) continue;
    found.waiting.push_back(rank.rank);
    found.since_s = std::max(found.since_s, call->began_s);
    const std::uint32_t number = number_of(rank);
    if (found.call && number >= first) continue;
    first = number;
    found.call = *call;
    found.call->number = number;
    found.is_setup = rank.setup.has_value();
  }
  if (found.waiting.empty()) return found;
  find_late(seen, first, found);
  Difference difference(seen);
  found.different = std::move(difference.different);
  found.last_common = std::move(difference.last_common);
  found.edge = Waits(seen, found).blocking();
  return found;
}

}  // namespace weft::engine::board
