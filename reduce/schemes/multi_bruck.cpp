// Multi-object Bruck: with P objects a node, each round multiplies by P + 1 the number of nodes
// over which a node has reduced.
//
//   P = 3, 16 nodes, base 4:    round 0: from nodes i + 1, i + 2, i + 3        sums of 4
//                               round 1: from nodes i + 4, i + 8, i + 12       sums of 16
//   object t of each node sends to the node t S before and receives from the one t S behind, where
//   S is what a sum holds so far; the local root reduces all that came in
//
// Where N is no power of P + 1, sums of the first N mod S nodes (the remainder) are kept beside
// those of S: a remainder is made of whole sums that came in anyway and the next smaller remainder
// of the node behind those, which travels with the sum that is sent from there. In the last round
// the nodes still missing are whole sums and one remainder.
//
// With N nodes of P ranks, the narrowest of K, vectors of n bytes, base K + 1:
//   rounds    ceil(log_(K+1) N); one less in the longest chain where the last needs old sums only
//   messages  a node at most K ceil(log_(K+1) N); each rank at most one a round
//   bytes     n each, 2 n where a remainder travels along: one object in a round
//   signals   a local rank 1 to the root (which has none), the root P - 1 to share; an object but
//             the root one from it and one to it a round
//   copied    staged n; the root n, and n for each sum and remainder; each rank n
//   reduced   the root (P - 1) n, and at most 2 K n a round
//   stage     the root 2 n for each round and one, and 2 K n for each round; staged n each rank
//   scratch   0
//
// Nodes combine their operands from themselves on, around the machine: the operation must commute,
// and be associative to the bit, or nodes would have results that differ in their last bits. (See
// multi-doubling for all others.)
//
// Source: Huang et al., "PiP-MColl", CLUSTER 2023, section III-A3. As printed there, a remainder is
// reduced with the node's own previous one, which covers other nodes than those that are missing.
#include "reduce/schemes/algorithms.hpp"
#include "reduce/schemes/multi_object.hpp"

namespace weft::reduce {

using plan::Slice;

namespace {

class MultiBruck {
 public:
  MultiBruck(MultiObject& node) : node_(node), count_(node.nodes().count()) {}  // NOLINT

  /// Where the result lies.
  Slice emit() {
    sums_ = node_.slot(2 * node_.bytes());
    node_.reduce_local(sum());
    const int base = node_.objects() + 1;
    for (; covered_ * base <= count_; covered_ *= base) round(base - 1);
    if (covered_ == count_) return sum();
    return last();
  }

 private:
  using Hop = MultiObject::Hop;

  Slice sum() const { return part_of(sums_, {0, node_.bytes()}); }
  Slice remainder() const { return part_of(sums_, {node_.bytes(), node_.bytes()}); }
  int around(int distance) const {
    return (node_.nodes().own() + distance % count_ + count_) % count_;
  }
  Hop hop(int object, const Slice& out, const Slice& in) const {
    return {object, around(-object * covered_), out, around(object * covered_), in};
  }

  void round(int objects) {
    const std::uint64_t bytes = node_.bytes();
    const int rest = count_ % covered_;
    const int whole = count_ / covered_ % (objects + 1);  // sums in the next remainder
    std::vector<Hop> hops;
    std::vector<Slice> sums = {sum()};
    std::vector<Slice> remainders;
    if (whole > 0) remainders.push_back(sum());
    if (whole == 0 && rest > 0) remainders.push_back(remainder());
    for (int object = 1; object <= objects; ++object) {
      const bool both = object == whole && rest > 0;
      const Slice in = node_.slot(both ? 2 * bytes : bytes);
      hops.push_back(hop(object, both ? sums_ : sum(), in));
      sums.push_back(part_of(in, {0, bytes}));
      if (object < whole) remainders.push_back(sums.back());
      if (both) remainders.push_back(part_of(in, {bytes, bytes}));
    }
    node_.round(hops);
    sums_ = node_.slot(2 * bytes);
    node_.reduce(sum(), sums);
    if (!remainders.empty()) node_.reduce(remainder(), remainders);
  }

  Slice last() {
    const int whole = count_ / covered_;
    const bool rest = count_ % covered_ > 0;
    std::vector<Hop> hops;
    std::vector<Slice> slices = {sum()};
    for (int object = 1; object < whole + (rest ? 1 : 0); ++object) {
      slices.push_back(node_.slot(node_.bytes()));
      hops.push_back(hop(object, object < whole ? sum() : remainder(), slices.back()));
    }
    node_.round(hops);
    const Slice result = node_.slot(node_.bytes());
    node_.reduce(result, slices);
    return result;
  }

  MultiObject& node_;
  const int count_;  // nodes
  int covered_ = 1;  // nodes in sum()
  Slice sums_;       // the sum over covered_ nodes from this one on, and over count_ mod covered_
};

}  // namespace

void multi_bruck(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                 const Parameters& parameters) {
  MultiObject node(ledger, problem, machine, parameters);
  node.share(MultiBruck(node).emit());
}

}  // namespace weft::reduce
