// Scan along a chain: each member puts the sum of all before it before its own and passes it on, in
// segments that follow one another.
//
//   0 -> 1 -> 2 -> 3 -> 4
//
// With p members, vectors of n bytes and S segments:
//   rounds    p - 1 + S - 1 (p > 2)
//   messages  S each but the last member's 0
//   bytes     n each but the last member's 0
//   reduced   n each but member 0's 0; exscan: none for the last member either
//   copied    scan: n for member 0; exscan: n each but the first and the last member's 0
//   scratch   exscan n, of what is passed on; else 0
//
// For long vectors: every byte is sent, received and reduced once by each member.
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

namespace {

std::vector<Block> segments_of(const Reduction& reduction, const Parameters& parameters) {
  return segments({0, reduction.bytes}, parameters.segment, reduction.grain);
}

}  // namespace

void scan_chain(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const int self = reduction.self;
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  for (const Block& segment : segments_of(reduction, parameters)) {
    if (self > 0) vector.combine(reduction.member(self - 1), segment, Operand::left);
    vector.settle(segment);
    if (self + 1 < reduction.size()) vector.send(reduction.member(self + 1), segment);
  }
}

void exscan_chain(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const int self = reduction.self;
  const bool passes_on = self + 1 < reduction.size();
  plan::Slice sum = reduction.source;
  if (self > 0 && passes_on) sum = ledger.builder().allocate_scratch(reduction.bytes);
  for (const Block& segment : segments_of(reduction, parameters)) {
    if (self > 0) ledger.recv(reduction.member(self - 1), part_of(reduction.target, segment));
    if (!passes_on) continue;
    if (self > 0) {
      ledger.copy(part_of(sum, segment), part_of(reduction.target, segment));
      ledger.reduce(part_of(sum, segment), part_of(reduction.source, segment), Operand::left);
    }
    ledger.send(reduction.member(self + 1), part_of(sum, segment));
  }
}

}  // namespace weft::reduce
