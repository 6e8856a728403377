// Multi-object ring for long vectors: a chunked reduce inside the node, a reduce-scatter between
// nodes to which all ranks of a node send, and an allgather around a ring that all ranks of a node
// run at once, while what has come is handed out inside the node.
//
//   local     rank i of P reduces the i-th part of all P vectors into the first rank's stage
//   scatter   chunk M of N, for node M, goes there from object floor(M K / N) of every node; its
//             namesake on node M reduces what comes from all
//   gather    object i sends the i-th part of each chunk to its namesake on the next node and
//             receives that of another from the node before; all ranks copy what has come so far
//
// With N nodes of P ranks, the narrowest of K, which all divide n/N evenly, vectors of n bytes:
//   rounds    N > 1: N (1 and N - 1 around the ring)
//   messages  a node N - 1 of n/N, shared among its objects, then K (N - 1) of n/(N K)
//   bytes     a node 2 (1 - 1/N) n
//   signals   a rank 2 (P - 1); the object of the own chunk P - 1 more, and each object (N - 1)
//             (P - 1); direct: P - 1 more
//   copied    staged n; n/P for the first of the local vectors; n from the stage to the output
//   reduced   a rank (1 - 1/P) n; the object of the own chunk (1 - 1/N) n more
//   stage     staged n; the first rank of the node 2 n
//   scratch   two messages that arrive, of n/N
//
// Keeps the order of the ranks where those of each node follow one another. Every byte is reduced
// by one rank, so results are the same on all.
//
// Source: Huang et al., "PiP-MColl", CLUSTER 2023, section III-B2, and III-C for the local reduce.
#include <array>
#include <set>

#include "algorithm/fold.hpp"
#include "base/cast.hpp"
#include "reduce/flat/accumulator.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/shared_vectors.hpp"

namespace weft::reduce {

using plan::Slice;
using plan::Space;

namespace {

class MultiRing {
 public:
  MultiRing(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
            const Parameters& parameters)
      : ledger_(ledger),
        problem_(problem),
        self_(ledger.builder().rank()),
        nodes_(machine, self_),
        root_(nodes_.own_ranks().front()),
        objects_(nodes_.narrowest()),
        chunks_(problem.block_bytes, problem.grain(), nodes_.count()),
        vectors_(ledger, nodes_, problem.block_bytes, parameters.direct),
        all_(nodes_.own_ranks().begin(), nodes_.own_ranks().end()) {
    if (self_ != root_) return;
    for (int i = 0; i < 2; ++i) ledger.builder().allocate_stage(problem.block_bytes);
  }

  void emit() {
    reduce_local();
    scatter();
    gather();
    vectors_.close(all_);
  }

 private:
  int count() const { return nodes_.count(); }
  int own() const { return nodes_.own(); }
  int object(int node, int index) const {
    return nodes_.ranks(node)[static_cast<std::size_t>(index)];
  }
  /// The object that sends and reduces the chunk of a node.
  int object_of(int chunk) const { return chunk * objects_ / count(); }

  /// The first rank's stage: what the node has reduced, and the results.
  Slice stage(int index, const Block& block) const {
    const std::uint64_t bytes = round_up(problem_.block_bytes, plan::kSliceAlignment);
    return Slice::contiguous(
        Space::stage, root_,
        vectors_.stage_bytes() + static_cast<std::uint64_t>(index) * bytes + block.offset,
        block.bytes);
  }
  Slice local(const Block& block) const { return stage(0, block); }
  Slice result(const Block& block) const { return stage(count() > 1 ? 1 : 0, block); }

  void reduce_local() {
    if (vectors_.is_staged()) {
      ledger_.copy(Slice::contiguous(Space::stage, self_, 0, problem_.block_bytes),
                   vectors_.of(self_));
    }
    vectors_.open(all_);
    const Cut parts(problem_.block_bytes, problem_.grain(), static_cast<int>(all_.size()));
    const Block own_part = parts.part(nodes_.place());
    bool first = true;
    for (const int rank : nodes_.own_ranks()) {
      const Slice vector = part_of(vectors_.of(rank), own_part);
      first ? ledger_.copy(local(own_part), vector)
            : ledger_.reduce(local(own_part), vector, Operand::left);
      first = false;
    }
    const auto peers = nodes_.peers();
    for (const int peer : peers) ledger_.signal(peer, std::array{local(own_part)});
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const int place = (nodes_.place() + static_cast<int>(i) + 1) % static_cast<int>(all_.size());
      ledger_.wait(peers[i], std::array{local(parts.part(place))});
    }
  }

  void scatter() {
    if (count() == 1) return;
    for (int step = 1; step < count(); ++step) {
      const int to = (own() + step) % count();
      if (object(own(), object_of(to)) != self_) continue;
      ledger_.send(object(to, object_of(to)), local(chunks_.part(to)));
    }
    const Block chunk = chunks_.part(own());
    if (object(own(), object_of(own())) != self_) return;
    Accumulator sum(ledger_, chunk.bytes, local(chunk), result(chunk));
    const auto combine = [&](int from) {
      sum.combine(object(from, object_of(own())), sum.whole(), side_of(from, own()));
    };
    for (int from = own() - 1; from >= 0; --from) combine(from);
    for (int from = own() + 1; from < count(); ++from) combine(from);
  }

  void gather() {
    share(object_of(own()), chunks_.part(own()));
    const int next = (own() + 1) % count();
    const int previous = (own() + count() - 1) % count();
    for (int step = 0; step + 1 < count(); ++step) {
      const int out = (own() + count() - step) % count();
      const int in = (own() + 2 * count() - step - 1) % count();
      if (nodes_.place() < objects_) {
        ledger_.send(object(next, nodes_.place()), result(part(out, nodes_.place())));
        ledger_.recv(object(previous, nodes_.place()), result(part(in, nodes_.place())));
      }
      for (int index = 0; index < objects_; ++index) share(index, part(in, index));
    }
  }

  /// The part of a chunk that an object passes on.
  Block part(int chunk, int index) const {
    const Block whole = chunks_.part(chunk);
    const Block within = Cut(whole.bytes, problem_.grain(), objects_).part(index);
    return {whole.offset + within.offset, within.bytes};
  }

  /// From an object, which has this part of the result, to all ranks of the node.
  void share(int index, const Block& block) {
    if (block.bytes == 0) return;
    const int from = object(own(), index);
    if (count() > 1 && from == self_) {
      for (const int peer : nodes_.peers()) ledger_.signal(peer, std::array{result(block)});
    } else if (count() > 1) {
      ledger_.wait(from, std::array{result(block)});
    }
    ledger_.copy(Slice::contiguous(Space::output, self_, block.offset, block.bytes), result(block));
  }

  Ledger& ledger_;
  const plan::Problem& problem_;
  const int self_;
  const Nodes nodes_;
  const int root_;
  const int objects_;
  const Cut chunks_;  // one a node
  SharedVectors vectors_;
  const std::set<int> all_;  // the ranks of this node
};

}  // namespace

void multi_ring(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                const Parameters& parameters) {
  MultiRing(ledger, problem, machine, parameters).emit();
}

}  // namespace weft::reduce
