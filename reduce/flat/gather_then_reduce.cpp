// Gather, then reduce: every vector to where it is needed, and all the work there.
//
//   reduce:     0 -> root, 1 -> root, ...              all at once
//   allreduce:  Bruck's allgather, then everyone reduces for itself
//               round k: 2^k vectors to the member 2^k before, as many from the one 2^k behind
//
// With p members and vectors of n bytes:
//              reduce             allreduce
//   rounds     1                  ceil(lg p), or one less but for powers of two
//   messages   p - 1 in all       p ceil(lg p) in all
//   bytes      (p - 1) n in all   p (p - 1) n in all
//   reduced    (p - 1) n, root    (p - 1) n each
//   copied     n, root            2 n each
//   scratch    (p - 1) n, root    p n each
//
// Operands are combined from the left, one by one: the same grouping as a loop over all ranks would
// have. For very small vectors, where startups are all that counts.
//
// Source: Vadhiyar, Fagg, Dongarra, "Automatically Tuned Collective Communications", SC 2000, Table
// 1; Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", IEEE TPDS 8(11), 1997.
#include <algorithm>

#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/cut.hpp"

namespace weft::reduce {

using plan::Slice;

namespace {

/// target = the vectors from left to right.
template <class Vector>
void reduce_in_order(Ledger& ledger, const Reduction& reduction, Vector vector) {
  ledger.copy(reduction.target, vector(0));
  for (int index = 1; index < reduction.size(); ++index) {
    ledger.reduce(reduction.target, vector(index), Operand::left);
  }
}

}  // namespace

void reduce_gather(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  if (!reduction.is_root()) {
    ledger.send(reduction.member(reduction.root), reduction.source);
    return;
  }
  std::vector<Slice> vectors(reduction.members.size(), reduction.source);
  for (int index = 0; index < reduction.size(); ++index) {
    if (index == reduction.self) continue;
    Slice& vector = vectors[static_cast<std::size_t>(index)];
    vector = ledger.builder().allocate_scratch(reduction.bytes);
    ledger.recv(reduction.member(index), vector);
  }
  reduce_in_order(ledger, reduction,
                  [&](int index) { return vectors[static_cast<std::size_t>(index)]; });
}

void allreduce_allgather(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  const int p = reduction.size();
  const int self = reduction.self;
  const std::uint64_t n = reduction.bytes;
  if (p == 1) return ledger.copy(reduction.target, reduction.source);
  const Slice all = ledger.builder().allocate_scratch(static_cast<std::uint64_t>(p) * n);
  const auto vectors = [&](int first, int count) {  // counted from one's own
    return part_of(all,
                   {static_cast<std::uint64_t>(first) * n, static_cast<std::uint64_t>(count) * n});
  };
  ledger.copy(vectors(0, 1), reduction.source);
  for (int distance = 1; distance < p; distance *= 2) {
    const int count = std::min(distance, p - distance);
    ledger.send(reduction.member((self + p - distance) % p), vectors(0, count));
    ledger.recv(reduction.member((self + distance) % p), vectors(distance, count));
  }
  reduce_in_order(ledger, reduction, [&](int index) { return vectors((index + p - self) % p, 1); });
}

}  // namespace weft::reduce
