// Allgather by leaders: the ranks of a node exchange their blocks, leaders exchange those of their
// groups between nodes, and what comes from each node is passed on inside as it comes.
//
//   node A: A0 A1 A2         1. inside: all have A0 A1 A2
//   node B: B0 B1 B2         2. between leaders, k = 3: A0-B0, A1-B1, A2-B2, each its group's
//   blocks
//                            3. inside: each passes on what has come, while the next is on its way
//
// With every rank a leader and a ring between nodes this is PiP-MColl's allgather for large
// messages: P rings side by side, each with one P-th of the data. A leader alone in its group
// sends from its input and does not wait for the exchange inside. Where copies inside are staged,
// what comes goes straight into the leader's stage.
//
// With N nodes, P ranks on each, blocks of m bytes, n = N P m, k leaders, `ring` between:
//   rounds      N - 1 on the wire
//   messages    N - 1 of each leader
//   bytes       (N - 1) m P / k of each leader
//   copied      on each node staged P (n + m), direct P n - (N - 1) P m; m if P = 1
//   stage       staged, if P > 1: m of each rank, and of a leader (N - 1) m P / k; direct 0
//   signals     on each node P (P - 1) for the exchange and k (N - 1) (P - 1) for what comes;
//   direct
//               twice that
// With another step between nodes: its costs among N members for blocks of m P / k.
//
// Source: Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI Collectives", 2023,
// section III-B1, Figure 4. Fewer leaders, other steps, uneven and interleaved nodes are ours.
#include "gather/flat/team_of_all.hpp"
#include "gather/flat/team_segments.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/inside_steps.hpp"
#include "gather/schemes/leader_scheme.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;
using plan::Space;

namespace {

class LeaderAllgather : LeaderScheme {
 public:
  LeaderAllgather(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                  const Parameters& parameters)
      : LeaderScheme(builder, problem, machine, parameters),
        landings_(static_cast<std::size_t>(leaders_.columns())) {
    // Copies inside begin in stages: then what comes goes there at once.
    const bool staged = step().copies_by_stages();
    for (int column = 0; column < leaders_.columns(); ++column) {
      const int leader = leaders_.leader(node_, column);
      for (int node = 0; node < machine.nodes(); ++node) {
        const bool to_stage = staged && local_.size() > 1 && node != node_;
        landings_[column].push_back(
            to_stage
                ? Slices{stages_.allocate(leader, bytes_of(problem, leaders_.group(node, column)))}
                : group_at(leader, node, column));
      }
    }
  }

  void emit() {
    const Arrived here = exchange_inside();
    std::vector<Arrived> come;  // by column; of a leader
    for (int column = 0; column < leaders_.columns(); ++column) {
      const bool leads = machine_.nodes() > 1 && leaders_.leader(node_, column) == self_;
      come.push_back(leads ? exchange_between(column, here) : Arrived());
    }
    // In the order in which a ring brings them; all ranks of the node in the same.
    std::vector<Team> teams;
    for (int column = 0; column < leaders_.columns(); ++column) {
      teams.push_back(passing_team(column));
      if (!come[column].empty()) {
        teams.back().ready = [this, &of_column = come[column]](int) {
          return of_column[static_cast<std::size_t>(passed_)];
        };
      }
    }
    for (int step = 1; step < machine_.nodes(); ++step) {
      passed_ = (node_ - step + machine_.nodes()) % machine_.nodes();
      for (const Team& team : teams) {
        move_inside(builder_, team, Collective::broadcast, this->step());
      }
    }
  }

 private:
  Arrived exchange_inside() {
    Team team = team_of(local_, self_, local_.front(), stages_);
    team.bytes = [this](int block) { return problem_.block(local_[block]).bytes; };
    team.holds = holds_own;
    team.source = [this](int member, int) {
      return at(Space::input, local_[member], 0, problem_.block(local_[member]).bytes);
    };
    team.target = [this](int member, int block) {
      const plan::Block place = problem_.block(local_[block]);
      return at(Space::output, local_[member], place.offset, place.bytes);
    };
    team.wants = wants_all;
    return move_inside(builder_, team, Collective::allgather, step());
  }

  /// The blocks of the column's group on a node, in an output.
  Slices group_at(int owner, int node, int column) const {
    return blocks_at(problem_, Space::output, owner, leaders_.group(node, column));
  }

  Arrived exchange_between(int column, const Arrived& here) {
    const auto group = leaders_.group(node_, column);
    const bool alone = group.size() == 1;
    Team team = leaders_.team(column, self_);
    team.bytes = [this, column](int node) {
      return bytes_of(problem_, leaders_.group(node, column));
    };
    team.holds = holds_own;
    team.source = [this, column, alone](int, int node) {
      if (alone) return at(Space::input, self_, 0, problem_.block(self_).bytes);
      return group_at(self_, node, column);
    };
    // What a node has for itself has been exchanged inside.
    team.target = [this, column](int, int node) {
      return node == node_ ? Slices() : landings_[column][node];
    };
    team.ready = [this, alone, group, &here](int) {
      Ops ready;
      if (alone) return ready;
      for (const int rank : group) {
        const Ops& ops = here[machine_.place_of(rank)];
        ready.insert(ready.end(), ops.begin(), ops.end());
      }
      return ready;
    };
    return emit_on_team(builder_, team, *parameters_.between->find(Collective::allgather),
                        parameters_);
  }

  /// The team in which what has come to a leader from the node `passed_` goes to all of this one.
  Team passing_team(int column) {
    Team team = team_of(local_, self_, leaders_.leader(node_, column), stages_);
    team.blocks = 1;
    team.bytes = [this, column](int) {
      return bytes_of(problem_, leaders_.group(passed_, column));
    };
    team.holds = [root = team.root](int member, int) { return member == root; };
    team.source = [this, column](int, int) { return landings_[column][passed_]; };
    team.target = [this, column](int member, int) {
      return group_at(local_[member], passed_, column);
    };
    team.wants = wants_all;
    return team;
  }

  int passed_ = 0;
  std::vector<std::vector<Slices>> landings_;  // by column and node: where its leader receives
};

}  // namespace

void leader_allgather(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                      const Parameters& parameters) {
  LeaderAllgather(builder, problem, machine, parameters).emit();
}

}  // namespace weft::gather
