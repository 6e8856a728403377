// Multi-object doubling: recursive doubling with base P + 1. With P objects, each node exchanges
// with P others at once, so each round multiplies by P + 1 the number of nodes that have the same
// sum.
//
//   P = 2, 9 nodes, base 3:    round 0: 0-1-2, 3-4-5, 6-7-8        all with all of a group
//                              round 1: 0-3-6, 1-4-7, 2-5-8
//   object t of each node sends to the t-th next of its group and receives from the t-th before
//
// Where N is no power of P + 1, the nodes stand in as many blocks of neighbours as the next smaller
// power; the first of each block takes part for all of it. It has at most P others, one an object,
// which give it their vectors first and get the result at last.
//
// With N nodes of P ranks, the narrowest of K, vectors of n bytes, N' = (K+1)^m <= N the next
// power:
//   rounds    m, and 2 where N > N', or one less
//   messages  a node that takes part K m, and one to each other of its block; each rank at most
//             one a round
//   bytes     n each
//   signals, copied, stage: as multi-bruck without remainders
//   reduced   the root (P - 1) n, and K n a round; at most K n of its block
//   scratch   0
//
// All nodes of a group combine the same vectors from left to right, so results are the same to the
// bit, and the order of the ranks is kept where those of each node follow one another.
//
// Source: Huang et al., "PiP-MColl", CLUSTER 2023, section III-A3, with the partners of recursive
// doubling in the place of Bruck's, for operations that are not associative to the bit.
#include <algorithm>

#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/multi_object.hpp"

namespace weft::reduce {

using plan::Slice;

namespace {

class MultiDoubling {
 public:
  explicit MultiDoubling(MultiObject& node) : node_(node), base_(node.objects() + 1) {
    const int count = node.nodes().count();
    while (blocks_ * base_ <= count) blocks_ *= base_;
    const int own = node.nodes().own();
    while (first_of(block_ + 1, count) <= own) ++block_;
    place_ = own - first_of(block_, count);
    size_ = first_of(block_ + 1, count) - first_of(block_, count);
    count_ = count;
  }

  void emit() {
    sum_ = node_.slot(node_.bytes());
    node_.reduce_local(sum_);
    if (place_ > 0) {
      const int kept = first_of(block_, count_);
      const Slice result = node_.slot(node_.bytes());
      node_.round({{place_, kept, sum_, -1, {}}});
      node_.round({{place_, -1, {}, kept, result}});
      return node_.share(result);
    }
    fold_in();
    for (int distance = 1; distance < blocks_; distance *= base_) exchange(distance);
    std::vector<Hop> hops;
    for (int other = 1; other < size_; ++other)
      hops.push_back({other, own() + other, sum_, -1, {}});
    node_.round(hops);
    node_.share(sum_);
  }

 private:
  using Hop = MultiObject::Hop;

  int own() const { return node_.nodes().own(); }
  /// The blocks are as even as can be, the larger first.
  int first_of(int block, int count) const {
    return block * (count / blocks_) + std::min(block, count % blocks_);
  }

  void fold_in() {
    std::vector<Hop> hops;
    std::vector<Slice> slices = {sum_};
    for (int other = 1; other < size_; ++other) {
      slices.push_back(node_.slot(node_.bytes()));
      hops.push_back({other, -1, {}, own() + other, slices.back()});
    }
    if (hops.empty()) return;
    node_.round(hops);
    sum_ = node_.slot(node_.bytes());
    node_.reduce(sum_, slices);
  }

  void exchange(int distance) {
    const int digit = block_ / distance % base_;
    const auto member = [&](int other) {
      return first_of(block_ + (other - digit) * distance, count_);
    };
    std::vector<Hop> hops;
    std::vector<Slice> slices(static_cast<std::size_t>(base_), sum_);  // by digit
    for (int object = 1; object < base_; ++object) {
      const int from = (digit + base_ - object) % base_;
      Slice& in = slices[static_cast<std::size_t>(from)];
      in = node_.slot(node_.bytes());
      hops.push_back({object, member((digit + object) % base_), sum_, member(from), in});
    }
    node_.round(hops);
    sum_ = node_.slot(node_.bytes());
    node_.reduce(sum_, slices);
  }

  MultiObject& node_;
  const int base_;
  int count_ = 0;   // nodes
  int blocks_ = 1;  // a power of the base
  int block_ = 0;   // that of this node
  int place_ = 0;   // of this node in it
  int size_ = 1;    // nodes in it
  Slice sum_;
};

}  // namespace

void multi_doubling(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                    const Parameters& parameters) {
  MultiObject node(ledger, problem, machine, parameters);
  MultiDoubling(node).emit();
}

}  // namespace weft::reduce
