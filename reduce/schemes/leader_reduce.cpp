// Leaders for reduce and allreduce: k ranks of a node each reduce a part of the vector over the
// node, reduce it with the leaders of the same part on all other nodes, and share the result.
//
//   node A, k = 2                          node B, k = 2
//   first half:  A0 <- A1 A2 A3            B0 <- B1 B2 B3         local, at the same time
//   second half: A2 <- A0 A1 A3            B2 <- B0 B1 B3
//                A0 <-> B0, A2 <-> B2                             between nodes
//   A0 A1 A2 A3 take both halves from A0 and A2                   local
//
// The vector is cut in K = min(k, ranks of the widest node) parts, the i-th led by the rank at
// place floor(i P / K) of a node of P ranks: on a node with fewer ranks, some lead several parts.
// With one leader the network sees one rank a node; with every rank a leader all of them send, each
// its own part, and all of them reduce. The local steps of one part overlap with the network's of
// another. For a reduce, places on the root's node are counted from the root, so that a single
// leader there is the root.
//
// With leaders=sockets K is the most sockets that any node has; the first rank of the i-th socket
// leads the i-th part, where there are fewer the i-th modulo their number. For a reduce the root
// leads its own, which is the first on its node.
//
// With N nodes of P ranks, vectors of n bytes that K parts divide evenly, R(x) what `between` costs
// for N members and x bytes; each stage rounded up to 64 bytes:
//   rounds    those of `between`, K leaders at the same time
//   messages  a leader those of R(n/K); other ranks none
//   signals   a rank K to leaders (a leader K - 1), a leader P - 1 more; reduce: the latter to the
//             root only; direct: reduce P - 1 more
//   copied    staged n, a leader n/K twice more (allreduce), each rank what others lead
//   reduced   a leader (P - 1) n/K and that of R(n/K)
//   stage     staged n, and n for the results of a leader; direct 0, and n
//   scratch   a leader n/K, and that of R(n/K)
//
// Keeps the order of the ranks where those of each node follow one another. Operands are grouped by
// nodes.
//
// Source: Huang et al., "PiP-MColl", CLUSTER 2023, section III-C, Fig. 5 (the chunked local
// reduce); Rabenseifner, ICCS 2004, section 5, for one leader a node.
#include <array>

#include "reduce/flat/cut.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/leader_reduction.hpp"

namespace weft::reduce {

using plan::Collective;
using plan::Slice;
using plan::Space;

namespace {

class LeaderReduce : LeaderReduction {
 public:
  LeaderReduce(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
               const Parameters& parameters)
      : LeaderReduction(ledger, problem, machine, parameters, problem.block_bytes,
                        problem.collective == Collective::allreduce ? -1 : problem.root),
        root_node_(nodes_.index_of_node_of(problem.root)),
        root_place_(machine.place_of(problem.root)),
        cut_(problem.block_bytes, problem.grain(), most_leaders()) {
    for (int part = 0; part < cut_.parts(); ++part) {
      if (cut_.part(part).bytes > 0) leaders_.insert(leader(nodes_.own(), part));
    }
  }

  void emit() {
    const bool shares = nodes_.own_ranks().size() > 1 && has_results();
    if (shares && leaders_.contains(self_)) {
      ledger_.builder().allocate_stage(problem_.block_bytes);
    }
    if (vectors_.is_staged() && (leaders_.size() != 1 || !leaders_.contains(self_))) {
      ledger_.copy(Slice::contiguous(Space::stage, self_, 0, problem_.block_bytes),
                   vectors_.of(self_));
    }
    vectors_.open(leaders_);
    for (int part = 0; part < cut_.parts(); ++part) {
      if (cut_.part(part).bytes > 0 && leader(nodes_.own(), part) == self_) lead(part);
    }
    for (int i = 0; i < cut_.parts(); ++i) {
      const int part = (first_taken() + i) % cut_.parts();
      if (cut_.part(part).bytes > 0 && takes_results()) take(part);
    }
    if (!is_allreduce()) vectors_.close(leaders_);
  }

 private:
  bool is_allreduce() const { return problem_.collective == Collective::allreduce; }
  /// Of this node, and of this rank.
  bool has_results() const { return is_allreduce() || nodes_.own() == root_node_; }
  bool takes_results() const { return is_allreduce() || self_ == problem_.root; }

  int leader(int node, int part) const {
    if (sockets_.are_asked_for()) return sockets_.leader(node, part);
    const auto ranks = nodes_.ranks(node);
    const auto places = static_cast<int>(ranks.size());
    const int first = !is_allreduce() && node == root_node_ ? root_place_ : 0;
    return ranks[static_cast<std::size_t>((first + part * places / cut_.parts()) % places)];
  }

  /// Ranks begin with their own part, so that no two take from the same leader at the same time.
  /// Always the first part of its leader: signals of one leader are in the order of its parts.
  int first_taken() const {
    const auto places = static_cast<int>(nodes_.own_ranks().size());
    if (!is_allreduce() || sockets_.are_asked_for()) return 0;
    return (nodes_.place() * cut_.parts() + places - 1) / places % cut_.parts();
  }

  Slice output(const Block& block) const {
    return Slice::contiguous(Space::output, self_, block.offset, block.bytes);
  }
  /// Where a leader leaves results for its node.
  Slice shared(int leader, const Block& block) const {
    return Slice::contiguous(Space::stage, leader, vectors_.stage_bytes() + block.offset,
                             block.bytes);
  }
  /// Where this leader's result goes.
  Slice target(const Block& block) const {
    if (!has_results()) return {};
    const bool alone = nodes_.own_ranks().size() == 1 || (!is_allreduce() && takes_results());
    return alone ? output(block) : shared(self_, block);
  }

  void lead(int part) {
    const Block block = cut_.part(part);
    const Slice result = target(block);
    Slice local = part_of(vectors_.of(self_), block);
    if (nodes_.own_ranks().size() > 1 || nodes_.count() == 1) {
      local = nodes_.count() == 1 ? result : ledger_.builder().allocate_scratch(block.bytes);
      reduce_local(local, block);
    }
    if (nodes_.count() > 1) reduce_between(part, local, result);
    if (!has_results() || result.space == Space::output) return;
    for (const int peer : nodes_.peers()) {
      if (is_allreduce() || peer == problem_.root) ledger_.signal(peer, std::array{result});
    }
  }

  void reduce_local(const Slice& local, const Block& block) {
    bool first = true;
    for (const int rank : nodes_.own_ranks()) {
      const Slice vector = part_of(vectors_.of(rank), block);
      first ? ledger_.copy(local, vector) : ledger_.reduce(local, vector, Operand::left);
      first = false;
    }
  }

  void reduce_between(int part, const Slice& local, const Slice& result) {
    Reduction reduction =
        between_nodes([&](int node) { return leader(node, part); }, local, result);
    reduction.root = root_node_;
    const auto emit = emit_of<algorithm::EmitReduction>(*parameters_.between, problem_.collective);
    emit(ledger_, reduction, parameters_);
  }

  void take(int part) {
    const Block block = cut_.part(part);
    const int from = leader(nodes_.own(), part);
    if (from == self_) {
      const Slice result = target(block);
      if (result.space != Space::output) ledger_.copy(output(block), result);
      return;
    }
    const Slice result = shared(from, block);
    ledger_.wait(from, std::array{result});
    ledger_.copy(output(block), result);
  }

  const int root_node_;
  const int root_place_;
  const Cut cut_;
};

}  // namespace

void leader_reduce(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                   const Parameters& parameters) {
  LeaderReduce(ledger, problem, machine, parameters).emit();
}

}  // namespace weft::reduce
