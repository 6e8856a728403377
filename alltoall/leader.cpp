// Leaders: k ranks of a node speak for all of it.
//
//   node A, k = 2                         node B, k = 2
//   A0 A1 -> leader A0 \                / B0 -> B0 B1
//                       >-- exchange --<              exchange: every leader with all leaders of
//   A2 A3 -> leader A2 /                \ B2 -> B2 B3 all other nodes
//   aggregate             between nodes     distribute
//
// The ranks of a node form min(k, P) groups of neighbours; the first of each is its leader. Ranks
// put their blocks for other nodes into the stage of their leader; leaders exchange; ranks take
// their blocks out of the stage of their leader. A message from group g to group h has a block
// for each pair of their ranks, by source, then by destination. Blocks within the node take no
// part in this; their exchange runs while the messages are on their way. A leader alone in its
// group sends from its input and receives into its output.
//
// With N nodes, P ranks on the node at hand, R ranks on all others, groups of G ranks, blocks of m
// bytes, `isend` between nodes (each size of stage rounded up to 64 bytes):
//   rounds      1 (N > 1)
//   messages    a leader: one to each leader on another node, (N - 1) min(k, P) if all nodes have
//               P ranks; other ranks: none
//   bytes       a leader: G R m
//   copied      within the node staged (2 P - 1) m, direct P m; if G > 1 also 2 R m, and direct a
//               leader R m + G R m, other ranks R m
//   stage       staged (P - 1) m, direct 0; if G > 1 and N > 1 a leader also 2 G R m
//   signals     if G > 1 and N > 1 a leader G - 1, other ranks staged 1; within the node staged
//               P - 1, direct 2 (P - 1)
//   scratch     0; for a leader alone in its group 0 where the ranks of a group lie at equal
//               distances, else it packs and unpacks
// With another step between nodes: its rounds, messages and bytes among all leaders, where those
// of one node have nothing for one another.
//
// Source: the leader-based scheme of Kumar, Mamidala, Panda, "Scaling Alltoall Collective on
// Multi-core Systems", 2008, section 5, with several leaders as proposed there.
#include "alltoall/algorithms.hpp"
#include "base/cast.hpp"
#include "hierarchy/blocks.hpp"
#include "hierarchy/groups.hpp"
#include "hierarchy/inside_node.hpp"

namespace weft::alltoall {

using hierarchy::Group;
using hierarchy::Machine;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

class Leader {
 public:
  Leader(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
         const Parameters& parameters)
      : builder_(builder),
        problem_(problem),
        machine_(machine),
        parameters_(parameters),
        self_(builder.rank()),
        node_(machine.node_of(self_)),
        groups_(hierarchy::groups(machine, parameters.leaders)),
        inside_(builder, problem, machine, parameters.direct) {
    before_.reserve(groups_.size());
    group_of_place_.resize(machine.ranks_on(node_).size());
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
      before_.push_back(remote_.size());
      for (const int rank : groups_[g].ranks) {
        if (groups_[g].node == node_) {
          group_of_place_[machine.place_of(rank)] = g;
        } else {
          remote_.push_back(rank);
        }
      }
    }
  }

  void emit() {
    const Group& own = group_of(self_);
    const bool leads = own.leader() == self_;
    builder_.allocate_stage(leads ? received_begin(own) + half_bytes(own) : inside_.stage_bytes());
    std::vector<OpId> arrived;
    if (!remote_.empty()) {
      const auto ready = inside_.collect([this](int from, int to) { return to_leader(from, to); });
      if (leads) arrived = exchange(own, ready);
    }
    inside_.exchange_blocks();
    if (!remote_.empty()) {
      inside_.distribute([this](int from, int to) { return from_leader(from, to); }, arrived);
    }
  }

 private:
  const Group& group_of(int local) const {
    return groups_[group_of_place_[machine_.place_of(local)]];
  }

  /// A leader's stage has two halves: what it sends, then what it receives. Both have the
  /// messages of the remote groups in order, so a message begins in both at the same distance. A
  /// leader alone in its group needs neither.
  std::uint64_t half_bytes(const Group& group) const {
    if (group.size() == 1) return 0;
    return group.ranks.size() * remote_.size() * problem_.block_bytes;
  }
  std::uint64_t received_begin(const Group& group) const {
    return inside_.stage_bytes() + round_up(half_bytes(group), plan::kSliceAlignment);
  }
  Slice message(const Group& own, std::uint64_t half, int group) const {
    const std::uint64_t pair = own.ranks.size() * problem_.block_bytes;
    return Slice::contiguous(Space::stage, self_, half + before_[group] * pair,
                             groups_[group].ranks.size() * pair);
  }

  /// From a member's input into the leader's stage: its line of every message.
  hierarchy::Move to_leader(int from, int to) const {
    const Group& group = group_of(from);
    if (group.leader() != to || group.size() == 1) return {};
    hierarchy::Move move;
    const auto place = static_cast<std::uint64_t>(machine_.place_of(from) - machine_.place_of(to));
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].node == node_) continue;
      const std::uint64_t line = groups_[g].ranks.size() * problem_.block_bytes;
      const std::uint64_t begin = before_[g] * group.ranks.size() * problem_.block_bytes;
      move.targets.push_back(
          Slice::contiguous(Space::stage, to, inside_.stage_bytes() + begin + place * line, line));
    }
    move.sources = hierarchy::blocks(problem_, Space::input, from, remote_);
    return move;
  }

  /// From the leader's stage to a member's output: a block from every remote rank.
  hierarchy::Move from_leader(int from, int to) const {
    const Group& group = group_of(to);
    if (group.leader() != from || group.size() == 1) return {};
    const auto place = static_cast<std::uint64_t>(machine_.place_of(to) - machine_.place_of(from));
    return {hierarchy::blocks(problem_, Space::output, to, remote_),
            {Slice::strided(
                Space::stage, from, received_begin(group) + place * problem_.block_bytes,
                problem_.block_bytes, remote_.size(), group.ranks.size() * problem_.block_bytes)}};
  }

  /// Among all leaders. Returns the ops after which all that is for this leader's group is there.
  std::vector<OpId> exchange(const Group& own, const std::vector<OpId>& ready) {
    Exchange exchange;
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
      if (groups_[g].leader() == self_) exchange.self = g;
      exchange.members.push_back(groups_[g].leader());
    }
    exchange.bytes = [this](int from, int to) -> std::uint64_t {
      if (groups_[from].node == groups_[to].node) return 0;
      return groups_[from].ranks.size() * groups_[to].ranks.size() * problem_.block_bytes;
    };
    exchange.source = [this, &own](int to) -> std::vector<Slice> {
      if (own.size() == 1) {
        return hierarchy::blocks(problem_, Space::input, self_, groups_[to].ranks);
      }
      return {message(own, inside_.stage_bytes(), to)};
    };
    exchange.target = [this, &own](int from) -> std::vector<Slice> {
      if (own.size() == 1) {
        return hierarchy::blocks(problem_, Space::output, self_, groups_[from].ranks);
      }
      return {message(own, received_begin(own), from)};
    };
    exchange.ready = [&ready](int) { return ready; };
    std::vector<OpId> all;
    for (const auto& ops : step_between(parameters_).emit(builder_, exchange, parameters_)) {
      all.insert(all.end(), ops.begin(), ops.end());
    }
    return all;
  }

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const Machine& machine_;
  const Parameters& parameters_;
  const int self_;
  const int node_;
  const std::vector<Group> groups_;
  hierarchy::InsideNode inside_;
  std::vector<int> remote_;            // the ranks of other nodes, node after node
  std::vector<std::uint64_t> before_;  // by group: the remote ranks of the groups before it
  std::vector<int> group_of_place_;    // of this node
};

}  // namespace

void leader(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
            const Parameters& parameters) {
  Leader(builder, problem, machine, parameters).emit();
}

}  // namespace weft::alltoall
