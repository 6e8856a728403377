// Neighbour ring: partial results of each block travel once around the ring and arrive reduced at
// their owner; every message goes to the next member only. In segments, so that one is reduced
// while the next one travels.
//
//   block of 3, p = 4:   0 -> 1 -> 2 -> 3      0 sends its own; 1, 2 and 3 add theirs
//
// With p members, vectors of n bytes in S segments a block, n a multiple of p S elements:
//              allreduce            reduce-scatter
//   messages   2 S (p - 1)          S (p - 1)
//   bytes      2 (1 - 1/p) n        (1 - 1/p) n
//   reduced    (1 - 1/p) n          (1 - 1/p) n
//   scratch    0                    (2 - 2/p) blocks in turn: 2 of the largest
//
// Operands of a block are combined from its owner's successor on, around the ring: the operation
// must commute.
//
// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 69(2), 2009; segments as in Open MPI's coll/base.
#include <algorithm>
#include <array>

#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/ring.hpp"

namespace weft::reduce {

using plan::Slice;

namespace {

/// `place(index)` is where the partial result of a member's block is kept here.
template <class Place>
void travel(Ledger& ledger, const Reduction& reduction, const std::vector<Block>& blocks,
            std::uint64_t segment_bytes, Place place) {
  const int p = reduction.size();
  const int next = reduction.member((reduction.self + 1) % p);
  const int previous = reduction.member((reduction.self + p - 1) % p);
  const auto within = [&](int index) {  // segments of a block, from its own beginning
    return segments({0, blocks[static_cast<std::size_t>(index)].bytes}, segment_bytes,
                    reduction.grain);
  };
  const auto source = [&](int index) {
    return part_of(reduction.source, blocks[static_cast<std::size_t>(index)]);
  };
  for (int step = 1; step < p; ++step) {
    const int out = (reduction.self + p - step) % p;
    const int in = (reduction.self + 2 * p - step - 1) % p;
    for (const Block& segment : within(out)) {
      ledger.send(next, part_of(step == 1 ? source(out) : place(out), segment));
    }
    for (const Block& segment : within(in)) {
      if (segment.bytes == 0) continue;
      const Slice here = part_of(place(in), segment);
      ledger.recv(previous, here);
      ledger.reduce(here, part_of(source(in), segment), Operand::left);
    }
  }
}

}  // namespace

void allreduce_neighbour_ring(Ledger& ledger, const Reduction& reduction,
                              const Parameters& parameters) {
  if (reduction.size() == 1) return ledger.copy(reduction.target, reduction.source);
  const auto blocks = even_blocks(reduction);
  travel(ledger, reduction, blocks, parameters.segment, [&](int index) {
    return part_of(reduction.target, blocks[static_cast<std::size_t>(index)]);
  });
  ring_allgather(ledger, reduction, blocks, reduction.target, parameters.segment);
}

void reduce_scatter_ring(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const int p = reduction.size();
  if (p == 1) return ledger.copy(reduction.target, reduction.source);
  const std::uint64_t largest = std::ranges::max(reduction.blocks, {}, &Block::bytes).bytes;
  std::array<Slice, 2> passing;
  for (int i = 0; i < std::min(2, p - 2); ++i) {
    passing[static_cast<std::size_t>(i)] = ledger.builder().allocate_scratch(largest);
  }
  travel(ledger, reduction, reduction.blocks, parameters.segment, [&](int index) {
    if (index == reduction.self) return reduction.target;
    const auto turn = static_cast<std::size_t>((reduction.self + p - index) % 2);
    return part_of(passing[p == 3 ? 0 : turn], {0, reduction.block(index).bytes});
  });
}

}  // namespace weft::reduce
