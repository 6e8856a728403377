#include "reduce/flat/halves.hpp"

#include <bit>
#include <utility>

#include "algorithm/fold.hpp"

namespace weft::reduce {

Halves::Halves(Accumulator& vector, const Cut& cut, std::vector<int> members, int self)
    : vector_(vector),
      cut_(cut),
      members_(std::move(members)),
      self_(self),
      bits_(std::countr_zero(members_.size())) {}

Block Halves::held(int index, int bits) const {
  int first = 0;
  int count = cut_.parts();
  for (int bit = 0; bit < bits; ++bit) {
    count /= 2;
    if (index >> bit & 1) first += count;
  }
  return cut_.parts_between(first, first + count);
}

void Halves::scatter() {
  for (int bit = 0; bit < bits_; ++bit) {
    const int peer = other(bit);
    vector_.send(member(peer), held(peer, bit + 1));
    vector_.combine(member(peer), held(self_, bit + 1), side_of(peer, self_));
  }
}

void Halves::exchange(int bit) {
  const int peer = other(bit);
  vector_.send(member(peer), held(self_, bit + 1));
  vector_.receive(member(peer), held(peer, bit + 1));
}

void Halves::gather(int root) {
  for (int bit = bits_ - 1; bit >= 0; --bit) {
    const int peer = other(bit);
    if ((self_ ^ root) >> bit & 1) {
      vector_.send(member(peer), held(self_, bit + 1));
      return;
    }
    vector_.receive(member(peer), held(peer, bit + 1));
  }
}

void fold_in_halves(Accumulator& vector, const Reduction& reduction, const Fold& fold) {
  const int self = reduction.self;
  if (!fold.is_paired(self)) return;
  const int other = fold.partner(self);
  const int partner = reduction.member(other);
  const Cut halves(reduction.bytes, reduction.grain, 2);
  const Block own = halves.part(self % 2);
  vector.send(partner, halves.part(other % 2));
  vector.combine(partner, own, side_of(other, self));
  if (fold.is_kept(self)) {
    vector.receive(partner, halves.part(other % 2));
  } else {
    vector.send(partner, own);
  }
}

}  // namespace weft::reduce
