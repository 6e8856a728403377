// Gather by leaders: the reverse of the scatter. Ranks put their blocks into the stages of their
// leaders, leaders send them to those of their column on the root's node, and the root takes them
// from there.
//
//   other nodes               root's node
//   B3 -> leader B2 ------> leader A2 --> root
//   B1 -> leader B0 ---------------------> root <-- ranks of its node
//
// The root leads its own group and receives into its output. The blocks of its own node it takes
// while the messages are on their way. A leader alone in its group sends from its input.
//
// With N nodes, P ranks on each, blocks of m bytes, k leaders, `binomial` between:
//   rounds      floor(lg N) on the wire
//   messages    k (N - 1) in all, one of each leader on another node
//   bytes       of a message m P / k times the nodes that it is from; to the root's node
//               (N - 1) P m
//   copied      on other nodes P m where k < P, 0 where k = P; on the root's (k - 1) / k (N - 1) P
//   m
//               from its leaders, and inside it; and what the step between copies
//   stage       of a leader of the root's node (N - 1) m P / k, of others m P / k if k < P; inside
//               the root's node staged m of each but the root
//   signals     P - k on each other node; on the root's P - 1 and k - 1, direct twice that
// With another step between nodes: its costs among N members for blocks of m P / k, k times.
//
// Source: the hierarchy of Huang et al., "PiP-MColl", 2023, with leaders; the trees are Vadhiyar's,
// Fagg's and Dongarra's, 2004, Table 1.
#include "gather/flat/team_segments.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/inside_steps.hpp"
#include "gather/schemes/staged_groups.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;
using plan::Space;

namespace {

class LeaderGather : StagedGroups {
 public:
  LeaderGather(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
               const Parameters& parameters)
      : StagedGroups(builder, problem, machine, parameters, Space::output, Space::input) {}

  void emit() {
    Arrived bundles(static_cast<std::size_t>(leaders_.columns()));
    for (int column = 0; column < leaders_.columns(); ++column) {
      Arrived collected;
      if (!at_root() && has_self(column)) collected = collect(column);
      if (leads(column)) bundles[column] = send_between(column, collected);
    }
    if (!at_root()) return;
    take_own_node();
    for (int column = 0; column < leaders_.columns(); ++column) {
      if (in_bundle(column)) take_bundle(column, bundles[column]);
    }
  }

 private:
  Arrived collect(int column) {
    if (is_alone(column)) return {};
    Team team = group_team(column);
    team.holds = holds_own;
    team.source = [&team, this](int member, int) { return own_block(team.members[member]); };
    team.target = [this, column, root = team.root](int member, int block) {
      return member == root ? piece(column, block) : Slices();
    };
    return move_inside(builder_, team, Collective::gather, step());
  }

  /// Returns the ops after which the column's blocks are on the root's node.
  Ops send_between(int column, const Arrived& collected) {
    Team team = column_team(column);
    team.holds = holds_own;
    team.source = [this, column](int, int) { return at_leader(column); };
    team.target = [this, column, root = team.root](int member, int node) {
      return member == root ? at_root_leader(column, node) : Slices();
    };
    team.ready = [&collected](int) { return algorithm::joined(collected); };
    return algorithm::joined(
        emit_on_team(builder_, team, *parameters_.between->find(Collective::gather), parameters_));
  }

  void take_own_node() {
    Team team = node_team();
    team.holds = holds_own;
    team.source = [&team, this](int member, int) { return own_block(team.members[member]); };
    team.target = [&team, this](int member, int block) {
      return member == team.root ? block_at_root(team.members[block]) : Slices();
    };
    move_inside(builder_, team, Collective::gather, step());
  }

  void take_bundle(int column, const Ops& ready) {
    Team team = bundle_team(column);
    team.root = 1;
    team.holds = [](int member, int) { return member == 1; };
    team.source = [this, column](int, int) { return bundle(column); };
    team.target = [this, column](int member, int) {
      return member == 0 ? bundle_at_root(column) : Slices();
    };
    team.ready = [&ready](int) { return ready; };
    move_inside(builder_, team, Collective::broadcast, step());
  }
};

}  // namespace

void leader_gather(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                   const Parameters& parameters) {
  LeaderGather(builder, problem, machine, parameters).emit();
}

}  // namespace weft::gather
