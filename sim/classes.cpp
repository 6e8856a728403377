#include "sim/classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/class_sources.hpp"
#include "sim/plan_shape.hpp"
#include "sim/symmetry.hpp"
#include "sim/tree_walk.hpp"

namespace weft::sim {

using plan::OpId;
using plan::OpKind;
using plan::Plan;

namespace {

// To make a plan costs as much as so many ops beside its own, and one for so many ranks.
constexpr std::uint64_t kOpsOfAPlan = 16;
constexpr std::uint64_t kRanksAnOp = 64;
// That may be made in any case, some 20 ms; and so many for each rank.
constexpr std::uint64_t kLeastOps = 1 << 17;
constexpr std::uint64_t kLeastOpsARank = 16;
constexpr std::uint64_t kMostKeptOps = 1 << 20;  // of plans that are kept: about 100 MiB
constexpr std::size_t kMostMembers = 1 << 14;
// In plans of so many ops, which are of flat algorithms, ranks either wait for none in a row, or
// for all of a ring.
constexpr std::size_t kLongPlan = 1 << 12;
constexpr int kMostDepthOfLong = 12;

/// Of the members of a node the one whose place is nearest to that of a rank; the earlier one of
/// two.
class NearestMember {
 public:
  NearestMember(std::span<const Member> members, const hierarchy::Machine& machine)
      : machine_(&machine) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto node = static_cast<std::size_t>(members[i].node);
      if (by_node_.size() <= node) by_node_.resize(node + 1);
      by_node_[node].push_back({machine.place_of(members[i].rank), static_cast<int>(i)});
      node_of_.push_back(node);
    }
    for (auto& places : by_node_) std::ranges::sort(places, {}, &Place::place);
  }

  int operator()(int member, int rank) const {
    const std::vector<Place>& places = by_node_[node_of_[static_cast<std::size_t>(member)]];
    const int place = machine_->place_of(rank);
    const auto behind = std::ranges::lower_bound(places, place, {}, &Place::place);
    if (behind == places.begin()) return behind->member;
    const Place& before = *(behind - 1);
    if (behind == places.end()) return before.member;
    const int nearer = (place - before.place) - (behind->place - place);
    if (nearer == 0) return std::min(before.member, behind->member);
    return nearer < 0 ? before.member : behind->member;
  }

 private:
  struct Place {
    int place;
    int member;
  };
  const hierarchy::Machine* machine_;
  std::vector<std::vector<Place>> by_node_;
  std::vector<std::size_t> node_of_;  // by member
};

/// Finds members node by node, and their sources until nobody is missing.
class Finder : public RankLookup {
 public:
  Finder(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
         const ClassOptions& options)
      : plan_of_rank_(plan_of_rank), machine_(machine), options_(options) {}

  Classes run() {
    add_node(machine_.node_of(options_.root));
    for (const int node : samples()) look_at_node(node);
    TreeWalk(*this, machine_, options_.root).run();
    std::vector<std::vector<Source>> sources;
    for (std::size_t i = 0; i < list_.size(); ++i) {  // grows meanwhile
      sources.push_back(find_sources(*this, machine_, *plans_[i]));
    }
    Classes classes{Members(list_, static_cast<int>(node_numbers_.size())), {}, false};
    classes.alike = node_numbers_.size() == 1;
    for (auto& plan : plans_) classes.plans.plans.push_back(*plan);
    classes.plans.sources = std::move(sources);
    classes.plans.neighbour = NearestMember(list_, machine_);
    return classes;
  }

  std::shared_ptr<const Plan> plan_of(int rank) override {
    if (const auto made = made_.find(rank); made != made_.end()) return made->second;
    auto plan = std::make_shared<const Plan>(plan_of_rank_(rank));
    const std::uint64_t cost = cost_of(*plan);
    if (most_ops_ == 0) {
      most_ops_ =
          std::max({kLeastOps, kLeastOpsARank * static_cast<std::uint64_t>(machine_.ranks()),
                    options_.most_plans * cost});
    }
    ops_ += cost;
    if (ops_ > most_ops_) throw NoClasses{"too many of its ranks do different things"};
    if (kept_ops_ > kMostKeptOps) {
      made_.clear();
      kept_ops_ = 0;
    }
    kept_ops_ += cost;
    made_.emplace(rank, plan);
    return plan;
  }

  int member_for(int rank) override {
    const Key key = look(rank);
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
    // Alone on its node, or one of many?
    const auto ranks = machine_.ranks_on_node_of(rank);
    const int place = machine_.place_of(rank);
    const auto& node = machine_.ranks_on(machine_.node_of(rank));
    for (const int other : {place - 1, place + 1}) {
      if (other < 0 || other >= ranks || look(node[static_cast<std::size_t>(other)]) != key) {
        continue;
      }
      add_node(machine_.node_of(rank));
      return by_key_.at(key);
    }
    return add(rank, 1, key);
  }

  int rank_of(int member) const override { return list_[static_cast<std::size_t>(member)].rank; }
  std::uint64_t shape_at(int rank) override { return see(rank).shape; }
  int height_at(int rank) override { return see(rank).height; }

 private:
  struct Key {
    std::uint64_t shape = 0;
    int height = 0;  // ranks before it that wait for one another until it can begin
    int depth = 0;   // and until it can end
    int sends = 0;   // that these do before
    int place = -1;
    auto operator<=>(const Key&) const = default;
  };

  /// Nodes at which it is looked beside the root's.
  std::vector<int> samples() const {
    const int nodes = machine_.nodes();
    const int root = machine_.node_of(options_.root);
    const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
    std::vector<int> list;
    for (const int distance : {1, nodes - 1, power - 1, nodes / 2}) {
      list.push_back((root + distance) % nodes);
    }
    return list;
  }

  /// What is known of a rank from its plan, without those of others but its first need's.
  struct Seen {
    std::uint64_t shape = 0;
    std::size_t ops = 0;
    int height = 0;
    int place = -1;  // of a rank in a ring through its node, whose ranks do not keep step
  };

  std::uint64_t cost_of(const Plan& plan) const {
    return plan.ops().size() + kOpsOfAPlan +
           static_cast<std::uint64_t>(machine_.ranks()) / kRanksAnOp;
  }

  /// For so many plans like this one.
  void require_budget(const Plan& plan, int plans) const {
    if (static_cast<std::uint64_t>(plans) * cost_of(plan) <= most_ops_) return;
    throw NoClasses{"too many of its ranks stand in a ring"};
  }

  const Seen& see(int rank) {
    if (const auto found = seen_.find(rank); found != seen_.end()) return found->second;
    const auto plan = plan_of(rank);  // kept while others are made
    const bool in_ring = is_ring(*plan, machine_);
    // Each place of its node is a class of its own, and one before it is looked at, too.
    if (in_ring) require_budget(*plan, machine_.ranks_on_node_of(rank) + 1);
    const Seen seen{shape_of(*plan, machine_), plan->ops().size(),
                    height_of(*plan, first_telling(*plan, machine_)),
                    in_ring ? machine_.place_of(rank) : -1};
    return seen_.emplace(rank, seen).first->second;
  }

  /// The ranks in a row that wait for one another before an op of the last one can begin, along
  /// their first needs.
  int height_of(const Plan& plan, OpId op) {
    const auto known = heights_.find({plan.rank(), op});
    if (known != heights_.end()) return known->second;
    if (level_ > kMostDepth) throw NoClasses{"its ranks wait for one another in a long chain"};
    const FirstNeeds needs = first_needs(plan, machine_, op);
    int height = 0;
    for (const auto& need : {needs.local, needs.remote}) {
      if (!need) continue;
      const auto source = plan_of(plan.ops()[*need].peer);
      const auto telling = counterpart_in(*source, plan, *need);
      if (!telling) throw NoClasses{"a message is never sent"};
      ++level_;
      height = std::max(height, 1 + height_of(*source, *telling));
      --level_;
    }
    heights_.emplace(std::pair(plan.rank(), op), height);
    return height;
  }

  struct Depth {
    int ranks = 0;
    int sends = 0;  // of these ranks, before the ones that are waited for
  };

  /// Follows the last needs from rank to rank, until there is none, or one comes that is like the
  /// one before it.
  Depth depth_of(int rank) {
    auto plan = plan_of(rank);
    auto need = last_need(*plan, machine_, static_cast<OpId>(plan->ops().size()));
    Depth depth;
    while (need && depth.ranks < kMostDepth) {
      const int peer = plan->ops()[*need].peer;
      const Seen here = see(plan->rank());
      const Seen there = see(peer);
      if (here.shape == there.shape && here.height == there.height) break;
      const auto source = plan_of(peer);
      const auto telling = counterpart_in(*source, *plan, *need);
      if (!telling) throw NoClasses{"a message is never sent"};
      ++depth.ranks;
      if (plan->ops().size() >= kLongPlan && depth.ranks > kMostDepthOfLong) {
        throw NoClasses{"its ranks end one after another in a long chain"};
      }
      depth.sends += sends_before(*source, *telling);
      plan = source;
      need = last_need(*plan, machine_, *telling);
    }
    return depth;
  }

  /// The sends before a send, both inside the node or both not. Signals take no time.
  int sends_before(const Plan& plan, OpId send) const {
    if (plan.ops()[send].kind != OpKind::send) return 0;
    const bool remote = !machine_.same_node(plan.ops()[send].peer, plan.rank());
    int count = 0;
    for (const plan::Op& op : plan.ops().first(send)) {
      if (op.kind != OpKind::send) continue;
      count += remote == !machine_.same_node(op.peer, plan.rank());
    }
    return count;
  }

  Key look(int rank) {
    if (const auto found = keys_.find(rank); found != keys_.end()) return found->second;
    const Seen seen = see(rank);
    const Depth depth = depth_of(rank);
    const Key key{seen.shape, seen.height, depth.ranks, depth.sends, seen.place};
    keys_.emplace(rank, key);
    return key;
  }

  int add(int rank, int weight, const Key& key) {
    if (list_.size() >= kMostMembers) throw NoClasses{"hardly two ranks do the same"};
    const auto node =
        node_numbers_.try_emplace(machine_.node_of(rank), static_cast<int>(node_numbers_.size()));
    const auto plan = plan_of(rank);
    const int member = static_cast<int>(list_.size());
    list_.push_back({rank, node.first->second, weight});
    plans_.push_back(plan);
    by_key_.emplace(key, member);
    return member;
  }

  /// A node whose first and last ranks are of known classes is taken to be like others.
  void look_at_node(int node) {
    const auto ranks = machine_.ranks_on(node);
    if (by_key_.contains(look(ranks.front())) && by_key_.contains(look(ranks.back()))) return;
    add_node(node);
  }

  struct Run {
    int rank = 0;
    int weight = 0;
  };

  void add_node(int node) {
    const auto ranks = machine_.ranks_on(node);
    std::map<Key, Run> runs;
    int begin = 0;
    for (int end = 1; end <= static_cast<int>(ranks.size()); ++end) {
      const bool same = end < static_cast<int>(ranks.size()) &&
                        machine_.domain_of(ranks[static_cast<std::size_t>(end)]) ==
                            machine_.domain_of(ranks[static_cast<std::size_t>(begin)]);
      if (same) continue;
      add_runs(ranks, begin, end - 1, runs);
      begin = end;
    }
    for (const auto& [key, run] : runs) {
      if (!by_key_.contains(key)) add(run.rank, run.weight, key);
    }
  }

  /// Divides places from `first` to `last` into runs of one class.
  void add_runs(std::span<const int> ranks, int first, int last, std::map<Key, Run>& runs) {
    const auto key_at = [&](int place) { return look(ranks[static_cast<std::size_t>(place)]); };
    const Key key = key_at(first);
    const int middle = first + (last - first) / 2;
    const bool alike = key == key_at(last) && key == key_at(middle) &&
                       key == key_at(first + (last - first) / 4) &&
                       key == key_at(middle + (last - middle) / 2);
    if (alike) {
      // Of those that it was looked at the one with the most to do stands for all.
      int most = ranks[static_cast<std::size_t>(first)];
      for (const int place : {middle, last}) {
        const int rank = ranks[static_cast<std::size_t>(place)];
        if (see(rank).ops > see(most).ops) most = rank;
      }
      Run& run = runs.try_emplace(key, Run{most, 0}).first->second;
      run.weight += last - first + 1;
      return;
    }
    add_runs(ranks, first, middle, runs);
    add_runs(ranks, middle + 1, last, runs);
  }

  const PlanSource& plan_of_rank_;
  const hierarchy::Machine& machine_;
  const ClassOptions& options_;
  std::unordered_map<int, Seen> seen_;                         // by rank
  std::unordered_map<int, Key> keys_;                          // by rank
  std::unordered_map<int, std::shared_ptr<const Plan>> made_;  // lately
  std::uint64_t kept_ops_ = 0;
  std::uint64_t ops_ = 0;
  std::uint64_t most_ops_ = 0;
  int level_ = 0;
  std::map<std::pair<int, OpId>, int> heights_;  // by rank and op
  std::map<Key, int> by_key_;
  std::unordered_map<int, int> node_numbers_;
  std::vector<Member> list_;
  std::vector<std::shared_ptr<const Plan>> plans_;
};

}  // namespace

std::variant<Classes, std::string> find_classes(const PlanSource& plan_of_rank,
                                                const hierarchy::Machine& machine,
                                                const ClassOptions& options) {
  if (auto reason = asymmetry(machine); !reason.empty()) return reason;
  try {
    return Finder(plan_of_rank, machine, options).run();
  } catch (const NoClasses& none) {
    return none.reason;
  }
}

}  // namespace weft::sim
