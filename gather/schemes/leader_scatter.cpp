// Scatter by leaders: the blocks of a node's groups go to their leaders, and from there inside.
//
//   root's node             other nodes         k = 2: B0 has the blocks of B0 B1, B2 those of
//   root --> leader A2 ---> leader B2 -> B3     B2 B3; on the root's node the root hands A2 all
//     '---------------------> leader B0 -> B1   that the second leaders are to have
//
// The root leads its own group and sends from its input. Its own node it serves itself, while the
// messages are on their way. A leader alone in its group receives into its output.
//
// With N nodes, P ranks on each, blocks of m bytes, k leaders, `binomial` between:
//   rounds      floor(lg N) on the wire
//   messages    k (N - 1) in all, ceil(lg N) of the root's node for each leader
//   bytes       of a message m P / k times the nodes that it is for; of the root's node (N - 1) P m
//   copied      on the root's node (k - 1) / k (N - 1) P m to its leaders, and inside it; on others
//               P m where k < P, 0 where k = P; and what the step between copies
//   stage       of a leader of the root's node (N - 1) m P / k, of others m P / k if k < P; inside
//               the root's node staged (P - 1) m
//   signals     P - k on each other node; on the root's P - 1 and k - 1
// With another step between nodes: its costs among N members for blocks of m P / k, k times.
//
// Source: the hierarchy of Huang et al., "PiP-MColl", 2023, III-A1, with leaders; the trees are
// Vadhiyar's, Fagg's and Dongarra's, 2004, Table 1.
#include "gather/flat/team_segments.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/inside_steps.hpp"
#include "gather/schemes/staged_groups.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;
using plan::Space;

namespace {

class LeaderScatter : StagedGroups {
 public:
  LeaderScatter(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                const Parameters& parameters)
      : StagedGroups(builder, problem, machine, parameters, Space::input, Space::output) {}

  void emit() {
    const Arrived bundles = at_root() ? hand_to_leaders() : Arrived();
    for (int column = 0; column < leaders_.columns(); ++column) {
      Ops arrived;
      if (leads(column)) {
        const Ops ready = bundles.empty() ? Ops() : bundles[column];
        arrived = send_between(column, ready);
      }
      if (!at_root() && has_self(column)) distribute(column, arrived);
    }
    if (at_root()) serve_own_node();
  }

 private:
  static auto holds_of(const Team& team) {
    return [root = team.root](int member, int) { return member == root; };
  }

  /// From the root's input to the stages of its node's leaders, all that their columns are to have.
  /// By column: the ops after which it is there.
  Arrived hand_to_leaders() {
    Arrived there(static_cast<std::size_t>(leaders_.columns()));
    for (int column = 0; column < leaders_.columns(); ++column) {
      if (!in_bundle(column)) continue;
      Team team = bundle_team(column);
      team.holds = holds_of(team);
      team.source = [this, column](int, int) { return bundle_at_root(column); };
      team.target = [this, column](int member, int) {
        return member == 1 ? bundle(column) : Slices();
      };
      there[column] = move_inside(builder_, team, Collective::broadcast, step())[0];
    }
    return there;
  }

  Ops send_between(int column, const Ops& ready) {
    Team team = column_team(column);
    team.holds = holds_of(team);
    team.source = [this, column](int, int node) { return at_root_leader(column, node); };
    team.target = [this, column](int member, int node) {
      return member == node ? at_leader(column) : Slices();
    };
    team.ready = [&ready](int) { return ready; };
    const Arrived arrived =
        emit_on_team(builder_, team, *parameters_.between->find(Collective::scatter), parameters_);
    return arrived[node_];
  }

  void distribute(int column, const Ops& ready) {
    if (is_alone(column)) return;
    Team team = group_team(column);
    team.holds = holds_of(team);
    team.source = [this, column](int, int block) { return piece(column, block); };
    team.target = [&team, this](int member, int block) {
      return member == block ? own_block(team.members[member]) : Slices();
    };
    team.ready = [&ready](int) { return ready; };
    move_inside(builder_, team, Collective::scatter, step());
  }

  void serve_own_node() {
    Team team = node_team();
    team.holds = holds_of(team);
    team.source = [&team, this](int, int block) { return block_at_root(team.members[block]); };
    team.target = [&team, this](int member, int block) {
      return member == block ? own_block(team.members[member]) : Slices();
    };
    move_inside(builder_, team, Collective::scatter, step());
  }
};

}  // namespace

void leader_scatter(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                    const Parameters& parameters) {
  LeaderScatter(builder, problem, machine, parameters).emit();
}

}  // namespace weft::gather
