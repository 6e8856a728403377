// Several ranks of a node that send and receive for it at the same time.
#pragma once

#include <vector>

#include "algorithm/parameters.hpp"
#include "algorithm/reduction.hpp"
#include "reduce/flat/cut.hpp"
#include "reduce/schemes/shared_vectors.hpp"

namespace weft::reduce {

/// What the small multi-object schemes have in common: a vector for the whole node in the stage of
/// its first rank, the local root, which reduces; and objects 1, 2, .., the ranks at places 0, 1,
/// .., that send from there and receive into there. As many as the narrowest node has ranks.
class MultiObject {
 public:
  /// What one object does in a round. Nodes by index; -1, or an empty slice: nothing.
  struct Hop {
    int object = 0;
    int to = -1;
    plan::Slice out;  // in the local root's stage
    int from = -1;
    plan::Slice in;  // in the local root's stage
  };

  MultiObject(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
              const algorithm::Parameters& parameters);

  const Nodes& nodes() const { return nodes_; }
  int objects() const { return objects_; }
  std::uint64_t bytes() const { return bytes_; }
  bool is_root() const { return self_ == root_; }

  /// `bytes` of the local root's stage. All ranks of the node ask in the same order.
  plan::Slice slot(std::uint64_t bytes);

  /// dst, of the local root's stage, = the vectors of the node in order.
  void reduce_local(const plan::Slice& dst);
  /// All objects at once, once what they send is there. What they receive is there for the local
  /// root.
  void round(const std::vector<Hop>& hops);
  /// dst = the slices from left to right, by the local root.
  void reduce(const plan::Slice& dst, const std::vector<plan::Slice>& slices);
  /// Every rank of the node gets the result, from the rank that has made or received it.
  void share(const plan::Slice& result, int from_object = 1);

 private:
  int object(int node, int index) const {
    return nodes_.ranks(node)[static_cast<std::size_t>(index - 1)];
  }

  Ledger& ledger_;
  const int self_;
  const Nodes nodes_;
  const int root_;
  const int objects_;
  const std::uint64_t bytes_;
  SharedVectors vectors_;
  std::uint64_t used_;  // of the local root's stage
};

}  // namespace weft::reduce
