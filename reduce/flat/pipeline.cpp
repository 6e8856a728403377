#include "reduce/flat/pipeline.hpp"

namespace weft::reduce {

void pipeline(Ledger& ledger, const Reduction& reduction, const TreePlace& place,
              std::uint64_t segment_bytes, bool down) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const auto member = [&](int index) { return reduction.member(index); };
  for (const Block& segment : segments(vector.whole(), segment_bytes, reduction.grain)) {
    if (place.left >= 0) vector.combine(member(place.left), segment, Operand::left);
    if (place.right >= 0) vector.combine(member(place.right), segment, Operand::right);
    if (place.parent >= 0) {
      vector.send(member(place.parent), segment);
    } else {
      vector.settle(segment);
    }
    if (!down) continue;
    if (place.parent >= 0) vector.receive(member(place.parent), segment);
    for (const int child : {place.left, place.right}) {
      if (child >= 0) vector.send(member(child), segment);
    }
  }
}

}  // namespace weft::reduce
