// Broadcast by leaders: the data go from node to node among leaders, and inside each node from
// there. With k leaders a node, each takes one k-th of the bytes.
//
//   root's node            other nodes           k = 2: the first half goes by the first leaders,
//   root --> leader --+--> leader --> ranks             the second half by the second ones
//      '---> ranks    '--> leader --> ranks
//
// On the root's node the root broadcasts inside, and a leader sends its part on once it has it; the
// root leads its own group, and does not wait for that. Elsewhere a leader passes its part on
// inside when it has come: staged, it comes straight into the leader's stage. In segments all of
// this is done for each in turn, so that the network has the next segment while nodes copy the
// last.
//
// With N nodes, P ranks on each, n bytes, k leaders, per node, `binomial` between:
//   rounds      floor(lg N) on the wire, for each segment
//   messages    k (N - 1) in all
//   bytes       n (N - 1) in all, n / k by each leader's edge
//   copied      staged P n on each node; direct (P - 1) n
//   stage       staged: n on each node, over its leaders (the root's node: the root); direct 0
//   signals     staged k (P - 1) on each node, direct 2 k (P - 1)
// With another step between nodes: its costs among N members for n / k bytes, k times.
//
// Source: the hierarchy of Huang et al., "PiP-MColl", 2023, and its MPI_Bcast inside a node
// (III-C); several leaders after Kumar, Mamidala, Panda, "Scaling Alltoall Collective on Multi-core
// Systems", 2008.
#include <algorithm>

#include "algorithm/blocks.hpp"
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

class LeaderBroadcast : LeaderScheme {
 public:
  LeaderBroadcast(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                  const Parameters& parameters)
      : LeaderScheme(builder, problem, machine, parameters, problem.root),
        root_node_(machine.node_of(problem.root)) {}

  void emit() {
    const std::uint64_t bytes = problem_.block_bytes;
    const std::uint64_t segment = parameters_.segment == 0 ? bytes : parameters_.segment;
    const int columns = leaders_.columns();
    for (std::uint64_t from = 0; from < bytes;) {
      const std::uint64_t length = std::min(segment, bytes - from);
      const auto begin = [&](int part) {
        return from + algorithm::begin_of_part(length, problem_.grain(), columns, part);
      };
      for (int column = 0; column < columns; ++column) {
        pass(column, begin(column), begin(column + 1));
      }
      from += length;
    }
  }

 private:
  /// Bytes `from` to `to` - 1, by the leaders of the column.
  void pass(int column, std::uint64_t from, std::uint64_t to) {
    const int leader = leaders_.leader(node_, column);
    const bool leads = self_ == leader;
    if (node_ == root_node_) {
      const Slices data = at(Space::input, problem_.root, from, to - from);
      const Slices own = at(Space::output, self_, from, to - from);
      if (self_ == problem_.root && leads) between(column, data, {});
      const Ops here = inside(problem_.root, data, from, to, {});
      if (self_ != problem_.root && leads) between(column, own, here);
      return;
    }
    // Copies inside begin in a stage: then it comes there at once.
    const bool staged = step().copies_by_stages() && local_.size() > 1;
    const Slices landing = staged ? Slices{stages_.allocate(leader, to - from)}
                                  : at(Space::output, leader, from, to - from);
    const Ops here = leads ? between(column, landing, {}) : Ops();
    inside(leader, landing, from, to, here);
  }

  /// Among the leaders of the column; `place` has the data, or gets them.
  Ops between(int column, const Slices& place, const Ops& ready) {
    Team team = leaders_.team(column, self_);
    describe(team, place, ready);
    team.target = [place, root = team.root](int member, int) {
      return member == root ? Slices() : place;
    };
    return emit_on_team(builder_, team, *parameters_.between->find(Collective::broadcast),
                        parameters_)[0];
  }

  /// Among the ranks of the node, from where the data lie at `head`, to all outputs. Returns the
  /// ops after which they are here.
  Ops inside(int head, const Slices& place, std::uint64_t from, std::uint64_t to,
             const Ops& ready) {
    Team team = team_of(local_, self_, head, stages_);
    describe(team, place, ready);
    team.target = [members = team.members, root = problem_.root, from, to](int member, int) {
      const int rank = members[member];
      return rank == root ? Slices() : at(Space::output, rank, from, to - from);
    };
    return move_inside(builder_, team, Collective::broadcast, step())[0];
  }

  /// One block, which the root of the team has at `place`.
  void describe(Team& team, const Slices& place, const Ops& ready) const {
    team.blocks = 1;
    team.grain = problem_.grain();
    team.bytes = [place](int) {
      std::uint64_t bytes = 0;
      for (const plan::Slice& slice : place) bytes += slice.bytes();
      return bytes;
    };
    team.holds = [root = team.root](int member, int) { return member == root; };
    team.source = [place](int, int) { return place; };
    team.ready = [ready](int) { return ready; };
  }

  const int root_node_;
};

}  // namespace

void leader_broadcast(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                      const Parameters& parameters) {
  LeaderBroadcast(builder, problem, machine, parameters).emit();
}

}  // namespace weft::gather
