// Everyone for itself: on one node, every rank reads the vectors of all others and reduces.
//
//   each: input -> own stage, signal to all;  wait for all, stage 0 -> output, reduce 1, 2, ..
//
// With P ranks, vectors of n bytes:
//   signals   P (P - 1), one round of them: the others take two
//   copied    2 n each
//   reduced   (P - 1) n each
//   stage     n each
//
// All combine the same vectors from left to right in the order of the ranks, so results are the
// same to the bit. For vectors so short that the way there and back is all that counts.
//
// Source: the flat allreduce of shared memory; Thakur, Rabenseifner, Gropp, section 4, "recursive
// doubling", with all partners at once.
#include <set>

#include "reduce/flat/cut.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/shared_vectors.hpp"

namespace weft::reduce {

using plan::Slice;
using plan::Space;

void everyone(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
              const Parameters&) {
  const int self = ledger.builder().rank();
  const std::uint64_t bytes = problem.block_bytes;
  const Nodes nodes(machine, self);
  const std::set<int> all(nodes.own_ranks().begin(), nodes.own_ranks().end());
  SharedVectors vectors(ledger, nodes, bytes, false);
  if (vectors.is_staged()) {
    ledger.copy(Slice::contiguous(Space::stage, self, 0, bytes), vectors.of(self));
  }
  vectors.open(all);
  const Slice output = Slice::contiguous(Space::output, self, 0, bytes);
  ledger.copy(output, vectors.of(*all.begin()));
  for (auto rank = std::next(all.begin()); rank != all.end(); ++rank) {
    ledger.reduce(output, vectors.of(*rank), Operand::left);
  }
}

}  // namespace weft::reduce
