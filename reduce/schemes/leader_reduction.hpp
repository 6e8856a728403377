// Leader reduction: what every reduction by leaders begins with.
#pragma once

#include <algorithm>
#include <set>

#include "algorithm/parameters.hpp"
#include "algorithm/reduction.hpp"
#include "reduce/schemes/shared_vectors.hpp"

namespace weft::reduce {

/// Base of one rank's part in a reduction by leaders: what is asked for, where the rank is, who may
/// lead, and the vectors that the node's ranks share. The arguments must live longer.
class LeaderReduction {
 protected:
  /// `vector_bytes` of each rank's vector. Where sockets have leaders, `root` leads its own (-1:
  /// there is none).
  LeaderReduction(Ledger& ledger, const plan::Problem& problem, const hierarchy::Machine& machine,
                  const algorithm::Parameters& parameters, std::uint64_t vector_bytes,
                  int root = -1)
      : ledger_(ledger),
        problem_(problem),
        parameters_(parameters),
        self_(ledger.builder().rank()),
        nodes_(machine, self_),
        sockets_(machine, nodes_, parameters.leaders, root),
        vectors_(ledger, nodes_, vector_bytes, parameters.direct) {}

  /// The number of parts into which leaders divide the work.
  int most_leaders() const {
    return sockets_.are_asked_for() ? sockets_.most()
                                    : std::min(parameters_.leaders, nodes_.widest());
  }

  /// Of `source` into `target`, among the ranks leader_of(node) of all nodes.
  template <class LeaderOf>
  algorithm::Reduction between_nodes(const LeaderOf& leader_of, const plan::Slice& source,
                                     const plan::Slice& target) const {
    algorithm::Reduction reduction;
    for (int node = 0; node < nodes_.count(); ++node) {
      reduction.members.push_back(leader_of(node));
    }
    reduction.self = nodes_.own();
    reduction.bytes = source.bytes();
    reduction.grain = problem_.grain();
    reduction.commutative = problem_.commutative;
    reduction.source = source;
    reduction.target = target;
    return reduction;
  }

  Ledger& ledger_;
  const plan::Problem& problem_;
  const algorithm::Parameters& parameters_;
  const int self_;
  const Nodes nodes_;
  const SocketLeaders sockets_;
  SharedVectors vectors_;
  std::set<int> leaders_;  // of this node, with something to lead
};

}  // namespace weft::reduce
