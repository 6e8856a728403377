// SA, send-side aggregation: ranks first hand their blocks to the local rank that talks to the
// destination; then each rank talks to one rank of every other node.
//
//   node A                         node B
//   A0 ---.      step 2: A0 ------> B0       step 1, inside A: every rank copies its blocks for
//   A1 --.|      step 2: A1 ------> B1       rank x of every other node into the stage of Ax;
//        ||                                  step 2: Ax sends B's rank x all that A has for it
//        |'-> stage of A0: for B0: from A0 A1 | for C0: from A0 A1 | ...
//        '--> stage of A1: for B1: from A0 A1 | for C1: from A0 A1 | ...
//
// What arrives needs no further copy: it is the destination's own, and goes to its output. Blocks
// within the node take no part in this; their exchange runs while the messages are on their way.
// Where a node has fewer ranks than another, its rank x mod P stands in for the x it lacks
// (hierarchy::Columns), so the scheme aggregates on any placement. A rank alone on its node has
// nothing to aggregate and sends from its input.
//
// With N nodes, P ranks on the node at hand, R_all ranks on all others, blocks of m bytes, `isend`
// between nodes, a rank of place y (each size of stage rounded up to 64 bytes):
//   represents  R remote ranks, those of a place x with x mod P = y: N - 1 if all nodes have P
//   rounds      1 (N > 1)
//   messages    R
//   bytes       R P m: (N - 1) P m if all nodes have P ranks
//   copied      staged R_all m + (2 P - 1) m; direct R P m + P m; without the first if P = 1
//   stage       staged R P m + (P - 1) m; direct R P m; without the first if P = 1
//   signals     staged one to each peer that represents a rank, and P - 1; direct 2 (P - 1)
//   scratch     0 where the ranks of a node lie at equal distances; else what comes is unpacked
// With another step between nodes: its rounds, messages and scratch among N members, and P times
// its bytes. A flat exchange has N (N - 1) P^2 messages between nodes; this has N (N - 1) P, each
// of P times the bytes.
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

class SendAggregation {
 public:
  SendAggregation(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
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
    if (machine_.nodes() > 1) {
      std::vector<OpId> ready;
      if (!alone())
        ready = inside_.collect([this](int from, int to) { return to_stage(from, to); });
      for (std::size_t column = machine_.place_of(self_);
           column < static_cast<std::size_t>(columns_.count()); column += width_) {
        exchange(static_cast<int>(column), ready);
      }
    }
    inside_.exchange_blocks();
  }

 private:
  /// Without peers on the node: inputs need no stage.
  bool alone() const { return width_ == 1; }
  /// A row has a block from each rank of this node, by place, for one remote rank.
  std::uint64_t row_bytes() const { return width_ * problem_.block_bytes; }

  /// From a rank's input into the rows of the representative `to`.
  hierarchy::Move to_stage(int from, int to) const {
    const int rows = columns_.rows(to);
    if (rows == 0) return {};
    hierarchy::Move move;
    const auto place = static_cast<std::uint64_t>(machine_.place_of(from));
    move.targets = {
        Slice::strided(Space::stage, to, inside_.stage_bytes() + place * problem_.block_bytes,
                       problem_.block_bytes, static_cast<std::uint64_t>(rows), row_bytes())};
    for (std::size_t column = machine_.place_of(to);
         column < static_cast<std::size_t>(columns_.count()); column += width_) {
      const auto slices = hierarchy::blocks(problem_, Space::input, from,
                                            columns_.remote(static_cast<int>(column)));
      move.sources.insert(move.sources.end(), slices.begin(), slices.end());
    }
    return move;
  }

  /// Among the representatives of `column`; those that have its place receive.
  void exchange(int column, const std::vector<OpId>& ready) {
    const auto bytes = [this, column](int from, int to) -> std::uint64_t {
      const bool has_column = machine_.ranks_on(to).size() > static_cast<std::size_t>(column);
      if (from == to || !has_column) return 0;
      return machine_.ranks_on(from).size() * problem_.block_bytes;
    };
    const auto source = [this, column](int to) -> std::vector<Slice> {
      const int rank = machine_.ranks_on(to)[column];
      if (alone()) return {hierarchy::block(problem_, Space::input, self_, rank)};
      const auto row = static_cast<std::uint64_t>(columns_.row_of(rank));
      return {Slice::contiguous(Space::stage, self_, inside_.stage_bytes() + row * row_bytes(),
                                row_bytes())};
    };
    const auto target = [this](int from) {
      return hierarchy::blocks(problem_, Space::output, self_, machine_.ranks_on(from));
    };
    step_between(parameters_)
        .emit(builder_,
              {columns_.members(column), node_, bytes, source, target,
               [&ready](int) { return ready; }},
              parameters_);
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

void send_aggregation(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                      const Parameters& parameters) {
  SendAggregation(builder, problem, machine, parameters).emit();
}

}  // namespace weft::alltoall
