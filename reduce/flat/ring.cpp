// Ring: a pairwise reduce-scatter with growing distance, then an allgather from neighbour to
// neighbour (allreduce) or each member's block straight to the root (reduce).
//
//   step 1:  0 -> 1 -> 2 -> 3 -> 0      step 2:  0 -> 2 -> 0, 1 -> 3 -> 1      each its block
//   back:    0 -> 1 -> 2 -> 3 -> 0, three times: blocks pass on
//
// With p members, vectors of n bytes in S segments a block, n a multiple of p S elements:
//              allreduce            reduce, not the root
//   rounds     2 (p - 1), S = 1     p
//   messages   2 S (p - 1)          S (p - 1) + 1
//   bytes      2 (1 - 1/p) n        n
//   reduced    (1 - 1/p) n          (1 - 1/p) n
//   scratch    two messages; where the operation does not commute n/p more; reduce also n/p
//
// What comes from members on the left and on the right of one's own is kept apart where the order
// counts, and put together in the end.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, section 3.7;
// T_all,ring and T_red,ring. Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 5.1.4.
#include "reduce/flat/ring.hpp"

#include "algorithm/fold.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

using plan::Slice;

std::vector<Block> even_blocks(const Reduction& reduction) {
  const Cut cut(reduction.bytes, reduction.grain, reduction.size());
  std::vector<Block> blocks;
  for (int index = 0; index < reduction.size(); ++index) blocks.push_back(cut.part(index));
  return blocks;
}

Slice pairwise_scatter(Ledger& ledger, const Reduction& reduction, const std::vector<Block>& blocks,
                       const Slice& target, std::uint64_t segment_bytes) {
  const int p = reduction.size();
  const int self = reduction.self;
  const Block own = blocks[static_cast<std::size_t>(self)];
  Accumulator left(ledger, own.bytes, part_of(reduction.source, own), target);
  // Members behind self come in descending order, before anything of theirs may meet the rest.
  Accumulator right(ledger, own.bytes, {}, {});
  const auto cut = [&](const Block& block) {
    return segments(block, segment_bytes, reduction.grain);
  };
  for (int step = 1; step < p; ++step) {
    ledger.next_step();
    const int to = (self + step) % p;
    const int from = (self + p - step) % p;
    for (const Block& segment : cut(blocks[static_cast<std::size_t>(to)])) {
      ledger.send(reduction.member(to), part_of(reduction.source, segment));
    }
    const bool apart = from > self && !reduction.commutative;
    for (const Block& segment : cut(left.whole())) {
      (apart ? right : left)
          .combine(reduction.member(from), segment, apart ? Operand::left : side_of(from, self));
    }
  }
  if (own.bytes == 0) return left.settle(own);
  const Slice result = left.settle(left.whole());
  if (!reduction.commutative && self + 1 < p) {
    ledger.reduce(result, right.settle(right.whole()), Operand::left);
  }
  return result;
}

void ring_allgather(Ledger& ledger, const Reduction& reduction, const std::vector<Block>& blocks,
                    const Slice& vector, std::uint64_t segment_bytes) {
  const int p = reduction.size();
  const auto parts = [&](int index) {
    std::vector<Slice> slices;
    for (const Block& segment : segments(blocks[static_cast<std::size_t>((index + 2 * p) % p)],
                                         segment_bytes, reduction.grain)) {
      slices.push_back(part_of(vector, segment));
    }
    return slices;
  };
  const int next = reduction.member((reduction.self + 1) % p);
  const int previous = reduction.member((reduction.self + p - 1) % p);
  for (int step = 0; step + 1 < p; ++step) {
    for (const Slice& slice : parts(reduction.self - step)) ledger.send(next, slice);
    for (const Slice& slice : parts(reduction.self - step - 1)) ledger.recv(previous, slice);
  }
}

void allreduce_ring(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const auto blocks = even_blocks(reduction);
  const Slice own = part_of(reduction.target, blocks[static_cast<std::size_t>(reduction.self)]);
  pairwise_scatter(ledger, reduction, blocks, own, parameters.segment);
  ledger.next_step();
  ring_allgather(ledger, reduction, blocks, reduction.target, parameters.segment);
}

void reduce_ring(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const auto blocks = even_blocks(reduction);
  const auto block = [&](int index) { return blocks[static_cast<std::size_t>(index)]; };
  if (!reduction.is_root()) {
    const Slice result = pairwise_scatter(ledger, reduction, blocks, {}, parameters.segment);
    ledger.send(reduction.member(reduction.root), result);
    return;
  }
  pairwise_scatter(ledger, reduction, blocks, part_of(reduction.target, block(reduction.self)),
                   parameters.segment);
  for (int index = 0; index < reduction.size(); ++index) {
    if (index == reduction.self) continue;
    ledger.recv(reduction.member(index), part_of(reduction.target, block(index)));
  }
}

void reduce_scatter_pairwise(Ledger& ledger, const Reduction& reduction,
                             const Parameters& parameters) {
  pairwise_scatter(ledger, reduction, reduction.blocks, reduction.target, parameters.segment);
}

}  // namespace weft::reduce
