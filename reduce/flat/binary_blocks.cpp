// Binary blocks: the members in blocks of powers of two, each of which halves its vectors among its
// own; partial results go from block to block up to the largest, and come back the same way.
//
//   p = 13:   0 .. 7 | 8 .. 11 | 12
//             each block: recursive vector halving, distance doubling
//             12 sends a quarter of its vector to each of 8 .. 11
//             8 .. 11 send an eighth to each of two of 0 .. 7
//   back:     0 .. 7 exchange with distance halving; when they hold quarters and eighths again, as
//             the smaller blocks need them, they send two pieces to each member there
//
// With p members in blocks of b1 > b2 > .. and vectors of n bytes, n a multiple of b1 elements:
//   rounds    allreduce 2 lg b1, and the blocks on the way: at most 2 for each
//   messages  in a block of b: lg b, and c / b to a next larger one of c; back lg b, and one from
//             each of min(c, 2 b) members of c
//   bytes     each block reduces for itself: (1 - 1/b) n a member; then n from each block to the
//   next reduced   (p - 1) n in all, as any algorithm without redundancy; a member of b1 (1 - 1/b1)
//   n,
//             and n/b1 for what comes from b2
//   scratch   n without target, what arrives at most n/2 + n/4
// For powers of two it is halving and doubling.
//
// Blocks are runs of neighbours, and what comes from a smaller block stands to the right, so the
// order is kept.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, section 3.6,
// Fig. 3.
#include <bit>

#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/halves.hpp"

namespace weft::reduce {

namespace {

class BinaryBlocks {
 public:
  BinaryBlocks(Ledger& ledger, const Reduction& reduction)
      : reduction_(reduction),
        vector_(ledger, reduction.bytes, reduction.source, reduction.target),
        largest_(std::bit_floor(static_cast<unsigned>(reduction.size()))) {
    // The block of self, and those before and behind it.
    const auto p = static_cast<unsigned>(reduction.size());
    const auto self = static_cast<unsigned>(reduction.self);
    for (unsigned size = largest_, begin = 0; size > 0; begin += p & size, size /= 2) {
      if ((p & size) == 0) continue;
      if (begin + size <= self) {
        larger_ = {static_cast<int>(begin), static_cast<int>(size)};
      } else if (begin <= self) {
        own_ = {static_cast<int>(begin), static_cast<int>(size)};
      } else {
        smaller_ = {static_cast<int>(begin), static_cast<int>(size)};
        break;
      }
    }
  }

  void allreduce() {
    Halves halves = halves_of(own_, reduction_.self - own_.begin);
    scatter(halves);
    receive_back(halves);
    for (int bit = halves.bits(); bit >= 0; --bit) {
      send_back(halves, bit);
      if (bit > 0) halves.exchange(bit - 1);
    }
    vector_.settle(vector_.whole());
  }

  void reduce() {
    Halves halves = halves_of(own_, reduction_.self - own_.begin);
    scatter(halves);
    const Run block{0, static_cast<int>(largest_)};
    const bool outside = reduction_.root >= block.size;
    if (reduction_.self == 0 && outside) {
      vector_.send(reduction_.member(reduction_.root), halves.held(0, halves.bits()));
      return;
    }
    if (reduction_.self >= block.size && !reduction_.is_root()) return;
    // A root outside of the largest block plays the role of its first member.
    std::vector<int> members = members_of(block);
    if (outside) members.front() = reduction_.member(reduction_.root);
    const int self = outside && reduction_.is_root() ? 0 : reduction_.self;
    Halves gathering(vector_, cut(), std::move(members), self);
    if (outside && reduction_.is_root()) {
      vector_.receive(reduction_.member(0), gathering.held(0, gathering.bits()));
    }
    gathering.gather(outside ? 0 : reduction_.root);
    if (reduction_.is_root()) vector_.settle(vector_.whole());
  }

 private:
  struct Run {  // of members
    int begin = 0;
    int size = 0;
    int bits() const { return std::countr_zero(static_cast<unsigned>(size)); }
  };

  Cut cut() const { return {reduction_.bytes, reduction_.grain, static_cast<int>(largest_)}; }
  std::vector<int> members_of(const Run& run) const {
    const auto begin = reduction_.members.begin() + run.begin;
    return {begin, begin + run.size};
  }
  Halves halves_of(const Run& run, int self) { return {vector_, cut(), members_of(run), self}; }
  int member(const Run& run, int index) const { return reduction_.member(run.begin + index); }

  /// In the block, then from the smaller block, then to the larger.
  void scatter(Halves& halves) {
    halves.scatter();
    const int self = halves.self();
    if (smaller_.size > 0) {
      vector_.combine(member(smaller_, self % smaller_.size), halves.held(self, halves.bits()),
                      Operand::right);
    }
    if (larger_.size == 0) return;
    for (int index = self; index < larger_.size; index += own_.size) {
      vector_.send(member(larger_, index), halves.held(index, larger_.bits()));
    }
  }

  /// What scatter() left here, reduced over all, in two pieces from the larger block.
  void receive_back(const Halves& halves) {
    if (larger_.size == 0) return;
    for (const int index : {halves.self(), halves.self() + own_.size}) {
      vector_.receive(member(larger_, index), halves.held(index, halves.bits() + 1));
    }
  }

  /// The same to the smaller block, once this one holds such pieces.
  void send_back(const Halves& halves, int bit) {
    const int self = halves.self();
    if (smaller_.size == 0 || bit != smaller_.bits() + 1 || self >= 2 * smaller_.size) return;
    vector_.send(member(smaller_, self % smaller_.size), halves.held(self, bit));
  }

  const Reduction& reduction_;
  Accumulator vector_;
  unsigned largest_;
  Run larger_;
  Run own_;
  Run smaller_;
};

}  // namespace

void allreduce_binary_blocks(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  BinaryBlocks(ledger, reduction).allreduce();
}

void reduce_binary_blocks(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  BinaryBlocks(ledger, reduction).reduce();
}

}  // namespace weft::reduce
