#include <algorithm>

#include <fmt/format.h>

#include "plan/text.hpp"
#include "plan/verify/checks.hpp"
#include "plan/verify/reach.hpp"

namespace weft::plan {

namespace {

constexpr std::size_t kSpaces = 4;

struct Interval {
  std::uint64_t begin;
  std::uint64_t end;
  OpId op;
  bool write;
};

/// Of each op, the slices it touches.
template <class Visit>
void for_each_access(const Op& op, Visit visit) {
  if (!op.dst.empty()) visit(op.dst, true);
  if (!op.src.empty()) visit(op.src, false);
}

/// All blocks touched in the spaces that plans write, by space.
std::vector<std::vector<Interval>> flatten(const OpTable& ops) {
  std::vector<std::vector<Interval>> memories(static_cast<std::size_t>(ops.ranks()) * kSpaces);
  for (OpId op = 0; op < ops.size(); ++op) {
    for_each_access(ops[op], [&](const Slice& slice, bool write) {
      if (slice.space == Space::input) return;
      auto& memory = memories[static_cast<std::size_t>(slice.owner) * kSpaces +
                              static_cast<std::size_t>(slice.space)];
      for (std::uint64_t i = 0; i < slice.count; ++i) {
        const std::uint64_t begin = slice.offset + i * slice.stride;
        memory.push_back({begin, begin + slice.block_bytes, op, write});
      }
    });
  }
  return memories;
}

/// Finds the orders that must hold between the ops that touch one memory.
///
/// Sweeps over the blocks by address and keeps those that cover the current byte, sorted by a
/// linear extension. If ops are ordered at all, then as they stand in that list. All pairs of which
/// one writes must be; it is enough that each newcomer is ordered with its neighbours up to the
/// nearest write on both sides, as the others follow through that write.
class Sweep {
 public:
  Sweep(const EventGraph& graph, OrderQueries& queries) : graph_(graph), queries_(queries) {}

  void run(std::vector<Interval>& memory) {
    std::ranges::sort(memory, {}, &Interval::begin);
    active_.clear();
    for (const Interval& interval : memory) {
      std::erase_if(active_, [&](const Active& a) { return a.end <= interval.begin; });
      insert({graph_.position(start_of(interval.op)), interval.op, interval.end, interval.write});
    }
  }

 private:
  struct Active {
    std::uint32_t position;
    OpId op;
    std::uint64_t end;
    bool write;
  };

  void insert(const Active& newcomer) {
    const auto place = std::ranges::upper_bound(active_, newcomer.position, {}, &Active::position);
    for (auto before = place; before != active_.begin();) {
      --before;
      if (before->write || newcomer.write) queries_.add(before->op, newcomer.op);
      if (before->write) break;
    }
    for (auto behind = place; behind != active_.end(); ++behind) {
      if (behind->write || newcomer.write) queries_.add(newcomer.op, behind->op);
      if (behind->write) break;
    }
    active_.insert(place, newcomer);
  }

  const EventGraph& graph_;
  OrderQueries& queries_;
  std::vector<Active> active_;
};

void report(const OpTable& ops, OpId before, OpId behind, Findings& findings) {
  std::string where = "the same bytes";
  for_each_access(ops[before], [&](const Slice& a, bool a_writes) {
    for_each_access(ops[behind], [&](const Slice& b, bool b_writes) {
      if (!a_writes && !b_writes) return;
      if (const auto common = overlap(a, b)) where = to_string(*common);
    });
  });
  findings.add(Flaw::race, ops, behind,
               fmt::format("touches {} at the same time as op {} of rank {} ({}), expected one "
                           "to follow the other",
                           where, ops.id(before), ops.rank(before), to_string(ops[before])));
}

/// An access to a caller's buffer on another rank must lie between two events of that rank, or its
/// call might not have begun or be over.
void check_visits(const OpTable& ops, const EventGraph& graph, Findings& findings) {
  Visits visits(ops, graph);
  for (OpId op = 0; op < ops.size() && !findings.full(); ++op) {
    for_each_access(ops[op], [&](const Slice& slice, bool) {
      if (slice.owner == ops.rank(op)) return;
      if (slice.space != Space::input && slice.space != Space::output) return;
      if (!visits.follows_any_of(op, slice.owner)) {
        findings.add(Flaw::race, ops, op,
                     fmt::format("touches {} when rank {} may not have begun, expected to follow "
                                 "an op of it",
                                 to_string(slice), slice.owner));
      } else if (!visits.precedes_any_of(op, slice.owner)) {
        findings.add(Flaw::race, ops, op,
                     fmt::format("touches {} when rank {} may be done, expected an op of it to "
                                 "follow",
                                 to_string(slice), slice.owner));
      }
    });
  }
}

}  // namespace

void check_races(const OpTable& ops, const EventGraph& graph, Findings& findings) {
  OrderQueries queries(ops, graph);
  Sweep sweep(graph, queries);
  for (auto& memory : flatten(ops)) sweep.run(memory);
  queries.for_each_unordered([&](OpId before, OpId behind) {
    report(ops, before, behind, findings);
    return !findings.full();
  });
  check_visits(ops, graph, findings);
}

}  // namespace weft::plan
