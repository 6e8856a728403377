// Leaders for reduce_scatter: k ranks of a node each reduce some of the blocks over the node, then
// reduce and scatter them among the leaders of the same blocks on all nodes, and hand them out.
//
//   N = 2, P = 4, k = 2        blocks of places 0 and 2: led by place 0; of 1 and 3: by place 1
//   A0 <- A1 A2 A3: blocks A0 A2 | B0 B2      A1 <- A0 A2 A3: blocks A1 A3 | B1 B3      local
//   A0 <-> B0, A1 <-> B1                      each node's blocks to that node           between
//   A2 takes its block from A0, A3 from A1                                              local
//
// A block belongs to the class of its rank's place modulo K = min(k, ranks of the widest node);
// class i is led by the rank at place i modulo P of each node. With every rank a leader, each has
// its own block in the end and nothing is handed out. With leaders=sockets class i has the blocks
// of the i-th sockets, whose first ranks lead it.
//
// With N nodes of P ranks, blocks of m bytes, K dividing P, R what `between` costs for N members
// with blocks of P m / K bytes; each stage rounded up to 64 bytes:
//   rounds    those of `between`
//   messages  a leader those of R; other ranks none
//   signals   a rank K to leaders (a leader K - 1), a leader P/K - 1 more; direct: P - 1 more
//   copied    staged (1 - 1/K) or all of N P m, a leader N P m / K, and each rank its block from
//             another leader's stage, or its own where that leads more than its own
//   reduced   a leader (P - 1) N P m / K and that of R
//   stage     staged N P m, and P m / K for a leader with more than its own block
//   scratch   a leader N P m / K, and that of R
//
// Keeps the order of the ranks where those of each node follow one another. Operands are grouped by
// nodes.
//
// Source: Huang et al., "PiP-MColl", CLUSTER 2023, sections III-B and III-C (multi-object
// reduce-scatter after a chunked local reduce).
#include <algorithm>
#include <array>

#include "algorithm/blocks.hpp"
#include "base/cast.hpp"
#include "reduce/flat/reduction_of_all.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/leader_reduction.hpp"

namespace weft::reduce {

using plan::Slice;
using plan::Space;

namespace {

/// The blocks that one leader of each node is for.
struct BlockClass {
  std::vector<int> ranks;        // whose blocks these are, node by node
  std::vector<Block> of_node;    // by node: its ranks' blocks within all of these
  std::uint64_t bytes = 0;       // in all
  std::uint64_t staged_at = 0;   // in every rank's vector as staged
  std::uint64_t results_at = 0;  // in the stage of this node's leader
  std::vector<int> local;        // the ranks of this node among them
};

class LeaderReduceScatter : LeaderReduction {
 public:
  LeaderReduceScatter(Ledger& ledger, const plan::Problem& problem,
                      const hierarchy::Machine& machine, const Parameters& parameters)
      : LeaderReduction(ledger, problem, machine, parameters,
                        parameters.direct ? problem.input_bytes(ledger.builder().rank())
                                          : vector_bytes(problem)) {
    const int count = most_leaders();
    std::vector<std::uint64_t> results(nodes_.own_ranks().size(), vectors_.stage_bytes());
    std::uint64_t staged = 0;
    for (int index = 0; index < count; ++index) {
      BlockClass made = make_class(index, count);
      made.staged_at = staged;
      staged += made.bytes;
      const int lead = leader(nodes_.own(), index);
      auto& at = results[static_cast<std::size_t>(machine.place_of(lead))];
      made.results_at = at;
      if (made.bytes > 0) leaders_.insert(lead);
      if (needs_stage(made, lead)) at += round_up(own_bytes(made), plan::kSliceAlignment);
      if (std::ranges::find(made.local, self_) != made.local.end()) own_class_ = index;
      classes_.push_back(std::move(made));
    }
    const std::uint64_t own = results[static_cast<std::size_t>(nodes_.place())];
    if (own > vectors_.stage_bytes()) {
      ledger.builder().allocate_stage(own - vectors_.stage_bytes());
    }
  }

  void emit() {
    stage();
    vectors_.open(leaders_);
    for (int index = 0; index < static_cast<int>(classes_.size()); ++index) {
      if (of(index).bytes > 0 && leader(nodes_.own(), index) == self_) lead(index);
    }
    take();
    vectors_.close(leaders_);
  }

 private:
  BlockClass make_class(int index, int count) const {
    BlockClass made;
    for (int node = 0; node < nodes_.count(); ++node) {
      Block within{made.bytes, 0};
      for (const int rank : ranks_of(node, index, count)) {
        made.ranks.push_back(rank);
        within.bytes += problem_.block(rank).bytes;
        if (node == nodes_.own()) made.local.push_back(rank);
      }
      made.bytes += within.bytes;
      made.of_node.push_back(within);
    }
    return made;
  }

  /// Whose blocks are in a class: those of a socket, or every count-th.
  std::vector<int> ranks_of(int node, int index, int count) const {
    if (sockets_.are_asked_for()) {
      const auto ranks = sockets_.ranks(node, index);
      return {ranks.begin(), ranks.end()};
    }
    std::vector<int> ranks;
    for (auto place = static_cast<std::size_t>(index); place < nodes_.ranks(node).size();
         place += static_cast<std::size_t>(count)) {
      ranks.push_back(nodes_.ranks(node)[place]);
    }
    return ranks;
  }

  const BlockClass& of(int index) const { return classes_[static_cast<std::size_t>(index)]; }
  int leader(int node, int index) const {
    if (sockets_.are_asked_for()) return sockets_.leader(node, index);
    const auto ranks = nodes_.ranks(node);
    return ranks[static_cast<std::size_t>(index) % ranks.size()];
  }
  std::uint64_t own_bytes(const BlockClass& one) const {
    return one.of_node[static_cast<std::size_t>(nodes_.own())].bytes;
  }
  /// Whether a leader has results that are not just its own.
  bool needs_stage(const BlockClass& one, int lead) const {
    return own_bytes(one) > 0 && (one.local.size() != 1 || one.local.front() != lead);
  }
  Slice output() const {
    return Slice::contiguous(Space::output, self_, 0, problem_.block(self_).bytes);
  }
  /// Of one class: where a leader has the blocks of this node's ranks.
  Slice results(const BlockClass& one, int lead) const {
    if (own_bytes(one) == 0) return {};
    if (!needs_stage(one, lead)) return output();
    return Slice::contiguous(Space::stage, lead, one.results_at, own_bytes(one));
  }
  Slice result_of(int rank, const BlockClass& one, int lead) const {
    std::uint64_t at = 0;
    for (const int other : one.local) {
      if (other == rank) break;
      at += problem_.block(other).bytes;
    }
    return part_of(results(one, lead), {at, problem_.block(rank).bytes});
  }

  /// What a rank of this node has of a class, as this rank finds it.
  std::vector<Slice> blocks_of(int rank, const BlockClass& one) const {
    if (rank == self_ || parameters_.direct) {
      return algorithm::blocks_at(problem_, Space::input, rank, one.ranks);
    }
    return {Slice::contiguous(Space::stage, rank, one.staged_at, one.bytes)};
  }

  void stage() {
    if (!vectors_.is_staged()) return;
    for (int index = 0; index < static_cast<int>(classes_.size()); ++index) {
      const BlockClass& one = of(index);
      if (leader(nodes_.own(), index) == self_ || one.bytes == 0) continue;
      ledger_.gather(Slice::contiguous(Space::stage, self_, one.staged_at, one.bytes),
                     blocks_of(self_, one));
    }
  }

  void lead(int index) {
    const BlockClass& one = of(index);
    const Slice result = results(one, self_);
    const auto own = blocks_of(self_, one);
    const bool alone = nodes_.own_ranks().size() == 1;
    if (nodes_.count() == 1) {
      reduce_local(result, one);
    } else if (alone && own.size() == 1 && own.front().is_contiguous()) {
      scatter_between(index, own.front(), result);
    } else {
      const Slice local = ledger_.builder().allocate_scratch(one.bytes);
      reduce_local(local, one);
      scatter_between(index, local, result);
    }
    for (const int rank : one.local) {
      const Slice block = result_of(rank, one, self_);
      if (rank != self_ && !block.empty()) ledger_.signal(rank, std::array{block});
    }
  }

  void reduce_local(const Slice& local, const BlockClass& one) {
    bool first = true;
    for (const int rank : nodes_.own_ranks()) {
      const auto pieces = blocks_of(rank, one);
      if (first) ledger_.gather(local, pieces);
      std::uint64_t at = 0;
      for (const Slice& piece : pieces) {
        const Slice here = part_of(local, {at, piece.bytes()});
        if (!first) ledger_.reduce(here, piece, Operand::left);
        at += piece.bytes();
      }
      first = false;
    }
  }

  void scatter_between(int index, const Slice& local, const Slice& result) {
    Reduction reduction =
        between_nodes([&](int node) { return leader(node, index); }, local, result);
    reduction.blocks = of(index).of_node;
    const auto emit = emit_of<algorithm::EmitReduction>(*parameters_.between, problem_.collective);
    emit(ledger_, reduction, parameters_);
  }

  void take() {
    if (output().empty()) return;
    const int from = leader(nodes_.own(), own_class_);
    const Slice block = result_of(self_, of(own_class_), from);
    if (from != self_) ledger_.wait(from, std::array{block});
    if (block.space != Space::output) ledger_.copy(output(), block);
  }

  std::vector<BlockClass> classes_;
  int own_class_ = 0;  // which has this rank's block
};

}  // namespace

void leader_reduce_scatter(Ledger& ledger, const plan::Problem& problem,
                           const hierarchy::Machine& machine, const Parameters& parameters) {
  LeaderReduceScatter(ledger, problem, machine, parameters).emit();
}

}  // namespace weft::reduce
