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
// (hierarchy::Columns), so the scheme aggregates on any placement.
//
// With N nodes, P ranks on the node at hand (Q on another), blocks of m bytes, `isend` between
// nodes, a rank:
//   rounds    1 between nodes (N > 1), as the step between has
//   messages  N - 1 where all nodes have P ranks; else R, the remote ranks that this one stands
//             for: sum over other nodes of the places x < Q with x mod P = this rank's place
//   bytes     R P m between nodes: (N - 1) P m where all nodes have P ranks
//   copied    staged: R_all m into stages and 2 (P - 1) m + m inside the node, where R_all is the
//             number of ranks on other nodes; direct: R P m into its own stage and P m
//   stage     R P m + (P - 1) m staged; R P m direct; each term rounded up to 64
//   signals   staged 2 (P - 1), P - 1 on one node (a stand-in for no one gets none); direct
//             2 (P - 1)
//   scratch   as the step between has: 0 where the ranks of a node lie at equal distances
// A flat exchange has N (N - 1) P^2 messages between nodes; this has N (N - 1) P: a factor of P
// fewer, of P times the bytes.
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
    builder_.allocate_stage(inside_.stage_bytes() +
                            static_cast<std::uint64_t>(columns_.rows(self_)) * row_bytes());
    if (machine_.nodes() > 1) {
      const auto ready = inside_.collect([this](int from, int to) { return to_stage(from, to); });
      for (std::size_t column = machine_.place_of(self_);
           column < static_cast<std::size_t>(columns_.count()); column += width_) {
        exchange(static_cast<int>(column), ready);
      }
    }
    inside_.exchange_blocks();
  }

 private:
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
      const auto row = static_cast<std::uint64_t>(columns_.row_of(machine_.ranks_on(to)[column]));
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
