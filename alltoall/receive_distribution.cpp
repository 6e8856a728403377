// RD, receive-side distribution: each rank sends all that it has for a node to one rank there,
// which hands it out.
//
//   node A                         node B
//   A0 ---- step 1: for B0 B1 ----> B0 stage: from A0: for B0 B1 | from C0: ...  --.
//   A1 ---- step 1: for B0 B1 ----> B1 stage: from A1: for B0 B1 | from C1: ...  -.|
//                                                                                 ||
//                        step 2, inside B: every rank copies its blocks out of all stages
//
// Nothing is copied before it is sent where a node's ranks lie at equal distances in the input.
// Blocks within the node take no part in this; their exchange runs while the messages are on their
// way. Where a node has fewer ranks than another, its rank x mod P stands in as the receiver for
// the x it lacks (hierarchy::Columns), so the scheme works on any placement. A rank alone on its
// node has nothing to distribute and receives into its output.
//
// With N nodes, P ranks on the node at hand, R_all ranks on all others, blocks of m bytes, `isend`
// between nodes, a rank of place y (each size of stage rounded up to 64 bytes):
//   represents  R remote ranks, those of a place x with x mod P = y: N - 1 if all nodes have P
//   rounds      1 (N > 1)
//   messages    N - 1
//   bytes       R_all m: (N - 1) P m if all nodes have P ranks
//   copied      R_all m (0 if P = 1) and within the node staged (2 P - 1) m, direct P m
//   stage       staged R P m + (P - 1) m; direct R P m; without the first if P = 1
//   signals     P - 1 if R > 0, and within the node staged P - 1, direct 2 (P - 1)
//   scratch     0 where the ranks of a node lie at equal distances; else what is sent is packed
// With another step between nodes: its rounds, messages and scratch among N members, and P times
// its bytes. As with SA, a factor of P fewer messages between nodes than a flat exchange has.
//
// Source: Kumar, Mamidala, Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008,
// section 5. Uneven and interleaved placements are ours.
#include "alltoall/algorithms.hpp"
#include "hierarchy/blocks.hpp"
#include "hierarchy/columns.hpp"
#include "hierarchy/inside_node.hpp"

namespace weft::alltoall {

using hierarchy::Columns;
using hierarchy::Machine;
using plan::OpId;
using plan::Slice;
using plan::Space;

namespace {

class ReceiveDistribution {
 public:
  ReceiveDistribution(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                      const Parameters& parameters)
      : builder_(builder),
        problem_(problem),
        machine_(machine),
        parameters_(parameters),
        self_(builder.rank()),
        node_(machine.node_of(self_)),
        width_(machine.ranks_on(node_).size()),
        columns_(machine, node_),
        inside_(builder, problem, machine, parameters.direct) {}

  void emit() {
    const std::size_t rows = alone() ? 0 : static_cast<std::size_t>(columns_.rows(self_));
    builder_.allocate_stage(inside_.stage_bytes() + rows * row_bytes());
    std::vector<OpId> arrived;
    if (machine_.nodes() > 1) {
      for (std::size_t column = machine_.place_of(self_);
           column < static_cast<std::size_t>(columns_.count()); column += width_) {
        for (const auto& ops : exchange(static_cast<int>(column))) {
          arrived.insert(arrived.end(), ops.begin(), ops.end());
        }
      }
    }
    inside_.exchange_blocks();
    if (!alone()) {
      inside_.distribute([this](int from, int to) { return from_stage(from, to); }, arrived);
    }
  }

 private:
  /// Without peers on the node: outputs need no stage.
  bool alone() const { return width_ == 1; }
  /// A row has a block for each rank of this node, by place, from one remote rank.
  std::uint64_t row_bytes() const { return width_ * problem_.block_bytes; }

  /// Among the representatives of `column`; those that have its place send.
  Arrived exchange(int column) {
    const auto bytes = [this, column](int from, int to) -> std::uint64_t {
      const bool has_column = machine_.ranks_on(from).size() > static_cast<std::size_t>(column);
      if (from == to || !has_column) return 0;
      return machine_.ranks_on(to).size() * problem_.block_bytes;
    };
    const auto source = [this](int to) {
      return hierarchy::blocks(problem_, Space::input, self_, machine_.ranks_on(to));
    };
    const auto target = [this, column](int from) -> std::vector<Slice> {
      const int rank = machine_.ranks_on(from)[column];
      if (alone()) return {hierarchy::block(problem_, Space::output, self_, rank)};
      const auto row = static_cast<std::uint64_t>(columns_.row_of(rank));
      return {Slice::contiguous(Space::stage, self_, inside_.stage_bytes() + row * row_bytes(),
                                row_bytes())};
    };
    return step_between(parameters_)
        .emit(builder_, {columns_.members(column), node_, bytes, source, target, {}}, parameters_);
  }

  /// From the rows of the representative `from` to a rank's output.
  hierarchy::Move from_stage(int from, int to) const {
    const int rows = columns_.rows(from);
    if (rows == 0) return {};
    hierarchy::Move move;
    const auto place = static_cast<std::uint64_t>(machine_.place_of(to));
    move.sources = {
        Slice::strided(Space::stage, from, inside_.stage_bytes() + place * problem_.block_bytes,
                       problem_.block_bytes, static_cast<std::uint64_t>(rows), row_bytes())};
    for (std::size_t column = machine_.place_of(from);
         column < static_cast<std::size_t>(columns_.count()); column += width_) {
      const auto slices =
          hierarchy::blocks(problem_, Space::output, to, columns_.remote(static_cast<int>(column)));
      move.targets.insert(move.targets.end(), slices.begin(), slices.end());
    }
    return move;
  }

  plan::Builder& builder_;
  const plan::Problem& problem_;
  const Machine& machine_;
  const Parameters& parameters_;
  const int self_;
  const int node_;
  const std::size_t width_;  // ranks on this node
  const Columns columns_;
  hierarchy::InsideNode inside_;
};

}  // namespace

void receive_distribution(plan::Builder& builder, const plan::Problem& problem,
                          const Machine& machine, const Parameters& parameters) {
  ReceiveDistribution(builder, problem, machine, parameters).emit();
}

}  // namespace weft::alltoall
