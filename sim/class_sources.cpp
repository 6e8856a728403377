#include "sim/class_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_map>

namespace weft::sim {

using plan::OpId;
using plan::OpKind;
using plan::Plan;

namespace {

// Runs of so many peers are looked at one by one.
constexpr int kShortRun = 6;
// A message of the class is looked for up to so far from the place where it should be.
constexpr int kFarthest = 128;

/// A recv or wait.
struct Need {
  OpId op = 0;
  int peer = 0;
  std::uint32_t number = 0;  // among those from the same peer
  std::size_t place = 0;     // among the needs of its plan
};

/// Where its counterpart is: of a member, the `ordinal`-th op of its kind.
struct Found {
  int member = -1;
  int ordinal = 0;
};

/// An op that tells something to a peer, as it stands among all of its kind.
struct Telling {
  int ordinal = 0;
  OpId op = 0;
  std::uint64_t bytes = 0;
};

/// The needs of one kind, inside the node or from other nodes.
class Needs {
 public:
  Needs(RankLookup& ranks, const hierarchy::Machine& machine, const Plan& plan, OpKind kind,
        bool remote, std::vector<Source>& sources)
      : ranks_(ranks),
        machine_(machine),
        plan_(plan),
        kind_(counterpart(kind)),
        remote_(remote),
        sources_(sources) {
    std::unordered_map<int, std::uint32_t> from;
    std::size_t place = 0;
    for (OpId id = 0; id < plan.ops().size(); ++id) {
      const plan::Op& op = plan.ops()[id];
      if (op.kind != OpKind::recv && op.kind != OpKind::wait) continue;
      const std::size_t here = place++;
      if (op.kind != kind || is_remote(op.peer, plan.rank()) != remote) continue;
      list_.push_back({id, op.peer, from[op.peer]++, here});
    }
    found_.resize(list_.size());
  }

  void find() {
    if (!list_.empty()) find(0, static_cast<int>(list_.size()) - 1);
  }

 private:
  bool is_remote(int peer, int rank) const { return !machine_.same_node(peer, rank); }

  const Found& at(int index) {
    auto& found = found_[static_cast<std::size_t>(index)];
    if (found) return *found;
    const Need& need = list_[static_cast<std::size_t>(index)];
    const int member = ranks_.member_for(need.peer);
    const auto plan = ranks_.plan_of(need.peer);
    int ordinal = 0;
    std::uint32_t number = 0;
    for (const plan::Op& op : plan->ops()) {
      if (op.kind != kind_) continue;
      if (op.peer == plan_.rank() && number++ == need.number) {
        found = Found{member, ordinal};
        return *found;
      }
      ++ordinal;
    }
    throw NoClasses{
        fmt::format("a message from rank {} to rank {} is never sent", need.peer, plan_.rank())};
  }

  /// Whether those from `first` to `last` come from one member, from evenly spaced ops of it.
  bool is_even(int first, int last) {
    const Found begin = at(first);
    const Found end = at(last);
    if (begin.member != end.member) return false;
    const int tolerance = 2 + (last - first) / 64;
    const int middle = first + (last - first) / 2;
    const auto fits = [&](int index) {
      const Found one = at(index);
      return one.member == begin.member &&
             std::abs(one.ordinal - between(begin, end, index - first, last - first)) <= tolerance;
    };
    return fits(middle) && fits(first + (last - first) / 4) && fits(middle + (last - middle) / 2);
  }

  static int between(const Found& begin, const Found& end, int part, int whole) {
    return begin.ordinal +
           static_cast<int>(std::int64_t{end.ordinal - begin.ordinal} * part / std::max(1, whole));
  }

  void find(int first, int last) {
    if (last - first < kShortRun) {
      for (int index = first; index <= last; ++index) take(index, at(index));
      return;
    }
    if (is_even(first, last)) {
      const Found begin = at(first);
      const Found end = at(last);
      for (int index = first; index <= last; ++index) {
        const auto& known = found_[static_cast<std::size_t>(index)];
        take(index, known ? *known
                          : Found{begin.member, between(begin, end, index - first, last - first)});
      }
      return;
    }
    const int middle = first + (last - first) / 2;
    find(first, middle);
    find(middle + 1, last);
  }

  /// The ops of a member that tell something to peers inside its node, or on other nodes.
  const std::vector<Telling>& tellings_of(int member, int rank) {
    auto [known, is_new] = tellings_.try_emplace(member);
    if (!is_new) return known->second;
    const auto plan = ranks_.plan_of(rank);
    int ordinal = 0;
    for (OpId id = 0; id < plan->ops().size(); ++id) {
      const plan::Op& op = plan->ops()[id];
      if (op.kind != kind_) continue;
      if (is_remote(op.peer, plan->rank()) == remote_) {
        known->second.push_back({ordinal, id, op.src.bytes()});
      }
      ++ordinal;
    }
    return known->second;
  }

  void take(int index, const Found& found) {
    const Need& need = list_[static_cast<std::size_t>(index)];
    const auto& tellings = tellings_of(found.member, ranks_.rank_of(found.member));
    const std::uint64_t bytes = plan_.ops()[need.op].dst.bytes();
    const auto from = std::ranges::lower_bound(tellings, found.ordinal, {}, &Telling::ordinal);
    const int start = static_cast<int>(from - tellings.begin());
    const auto fits = [&](int i) {
      return i >= 0 && i < static_cast<int>(tellings.size()) &&
             is_near(tellings[static_cast<std::size_t>(i)].bytes, bytes);
    };
    // Earlier ones first: a later one might follow this very message.
    int best = -1;
    const bool exact = start < static_cast<int>(tellings.size()) &&
                       tellings[static_cast<std::size_t>(start)].ordinal == found.ordinal;
    if (exact && fits(start)) best = start;
    for (int distance = 1; distance <= kFarthest && best < 0; ++distance) {
      if (fits(start - distance)) best = start - distance;
    }
    for (int distance = 0; distance <= kFarthest && best < 0; ++distance) {
      if (fits(start + distance)) best = start + distance;
    }
    if (best < 0) throw NoClasses{"messages of a class have different sizes"};
    sources_[need.place] = {found.member, tellings[static_cast<std::size_t>(best)].op};
  }

  /// Parts of a vector differ by an element.
  static bool is_near(std::uint64_t a, std::uint64_t b) {
    return std::max(a, b) - std::min(a, b) <= std::max(a, b) / 32;
  }

  RankLookup& ranks_;
  const hierarchy::Machine& machine_;
  const Plan& plan_;
  const OpKind kind_;  // of the counterparts
  const bool remote_;
  std::vector<Source>& sources_;
  std::vector<Need> list_;
  std::vector<std::optional<Found>> found_;
  std::map<int, std::vector<Telling>> tellings_;  // by member
};

}  // namespace

std::vector<Source> find_sources(RankLookup& ranks, const hierarchy::Machine& machine,
                                 const Plan& plan) {
  const auto needs = std::ranges::count_if(plan.ops(), [](const plan::Op& op) {
    return op.kind == OpKind::recv || op.kind == OpKind::wait;
  });
  std::vector<Source> sources(static_cast<std::size_t>(needs));
  for (const OpKind kind : {OpKind::wait, OpKind::recv}) {
    for (const bool remote : {false, true}) {
      Needs(ranks, machine, plan, kind, remote, sources).find();
    }
  }
  return sources;
}

}  // namespace weft::sim
