// Allgather with every rank of a node on the network, for small blocks: Bruck's concatenation among
// nodes with the radix P + 1, of which each of the P ranks takes one digit.
//
//   3 ranks a node, 16 nodes, seen from node 0; the buffer is the first rank's stage
//   gather      | 0 |
//   weight 1    | 0 | 1 | 2 | 3 |            rank 0 from node 1, rank 1 from 2, rank 2 from 3
//   weight 4    | 0 .. 3 | 4 .. 7 | 8 .. 11 | 12 .. 15 |       from nodes 4, 8 and 12
//
// The buffer begins with the node's own blocks and goes around the nodes from there, so that every
// message is one slice; all ranks of the node send from it and receive into it. They meet after
// each round, then copy what has come to their outputs while the next round is on its way: that
// rotates it into place. Where the number of nodes is no power of P + 1, the last round has fewer
// digits, and the last of them fewer blocks.
//
// The radix is that of the widest node; in a narrower one some ranks take several digits.
//
// With N nodes, P ranks on each, blocks of m bytes, n = N P m:
//   rounds    ceil(log_(P+1) N) on the wire; inside, ceil(lg P) for each and for the gather
//   messages  of a rank at most one a round
//   bytes     (N - 1) P m of each node
//   copied    m + n of each rank
//   stage     n of the first rank of each node
//   signals   ceil(lg P) of each rank for each round and for the gather
//   scratch 0
//
// Source: Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI Collectives", 2023,
// section III-A2, Figure 3. Uneven and interleaved nodes are ours.
#include <algorithm>

#include "gather/flat/team_of_all.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/inside_steps.hpp"
#include "gather/schemes/node_rounds.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Slice;
using plan::Space;

namespace {

class MultiObjectAllgather {
 public:
  MultiObjectAllgather(plan::Builder& builder, const plan::Problem& problem, const Machine& machine)
      : builder_(builder),
        problem_(problem),
        machine_(machine),
        self_(builder.rank()),
        node_(machine.node_of(self_)),
        owner_(machine.ranks_on(node_).front()),
        rounds_(machine),
        begin_(1, 0) {
    for (int distance = 0; distance < machine.nodes(); ++distance) {
      begin_.push_back(begin_.back() + bytes_of(problem, machine.ranks_on(node_after(distance))));
    }
  }

  void emit() {
    if (begin_.back() == 0) return;
    if (self_ == owner_) builder_.allocate_stage(begin_.back());
    Ops there = meet(put_own_block());
    copy_out(0, 1, there);
    std::int64_t weight = 1;
    for (; weight < machine_.nodes(); weight *= rounds_.radix()) {
      const Ops come = exchange(static_cast<int>(weight), there);
      const Ops known = meet(come);
      there.insert(there.end(), known.begin(), known.end());
      const auto next = std::min<std::int64_t>(weight * rounds_.radix(), machine_.nodes());
      copy_out(static_cast<int>(weight), static_cast<int>(next), there);
    }
  }

 private:
  int node_after(int distance) const { return (node_ + distance) % machine_.nodes(); }

  /// What the nodes at the distances `first` to `last` - 1 have, in the buffer.
  Slice buffer(int first, int last) const {
    return Slice::contiguous(Space::stage, owner_, begin_[first], begin_[last] - begin_[first]);
  }

  Ops meet(Ops ready) {
    const BarrierGroup group = group_on_node(machine_, self_, std::move(ready));
    return dissemination_barrier(builder_, group);
  }

  Ops put_own_block() {
    const auto local = machine_.ranks_on(node_);
    const auto place = static_cast<std::size_t>(machine_.place_of(self_));
    const std::uint64_t bytes = problem_.block(self_).bytes;
    const Slice target =
        Slice::contiguous(Space::stage, owner_, bytes_of(problem_, local.first(place)), bytes);
    return {builder_.copy(target, Slice::contiguous(Space::input, self_, 0, bytes))};
  }

  /// This rank's part of a round; what it has received.
  Ops exchange(int weight, const Ops& there) {
    Ops come;
    rounds_.for_each_of(self_, weight, [&](int digit, int distance, int count) {
      builder_.send(rounds_.peer(node_, -distance, digit), buffer(0, count), there);
      come.push_back(
          builder_.recv(rounds_.peer(node_, distance, digit), buffer(distance, distance + count)));
    });
    return come;
  }

  void copy_out(int first, int last, const Ops& there) {
    Slices targets;
    for (int distance = first; distance < last; ++distance) {
      const Slices blocks =
          blocks_at(problem_, Space::output, self_, machine_.ranks_on(node_after(distance)));
      targets.insert(targets.end(), blocks.begin(), blocks.end());
    }
    Ops copies;
    builder_.scatter(targets, buffer(first, last), there, copies);
  }

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const Machine& machine_;
  const int self_;
  const int node_;
  const int owner_;  // of the buffer
  const NodeRounds rounds_;
  std::vector<std::uint64_t> begin_;  // by distance: where a node's blocks begin in the buffer
};

}  // namespace

void multi_object_allgather(plan::Builder& builder, const plan::Problem& problem,
                            const Machine& machine, const Parameters& parameters) {
  // Inside one node there is nothing to send for all.
  if (machine.nodes() == 1) {
    Parameters by_stages = parameters;
    by_stages.inside = &kInsideSteps.front();
    return leader_allgather(builder, problem, machine, by_stages);
  }
  MultiObjectAllgather(builder, problem, machine).emit();
}

}  // namespace weft::gather
