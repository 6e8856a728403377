// Lanes: the groups of ranks of different nodes in which a scheme exchanges blocks.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::alltoall {

/// A rank that speaks for others of its node in one lane. To another member it sends one message
/// with the blocks of all its senders for all that one's receivers: by source, then by
/// destination.
struct Member {
  int rank = -1;
  int node = 0;
  std::span<const int> senders;    // whose blocks it sends, ascending; may be none
  std::span<const int> receivers;  // whose blocks it receives, ascending; may be none
};

/// Members of several nodes, the same list in the same order on every rank. Members of one node
/// send nothing to one another. The lanes of a scheme share out the work: for every two ranks on
/// different nodes, exactly one lane has a member that sends for the first and a member that
/// receives for the second.
using Lane = std::vector<Member>;

/// Whether `rank` is among ascending `ranks`.
inline bool is_one_of(std::span<const int> ranks, int rank) {
  return std::ranges::binary_search(ranks, rank);
}

}  // namespace weft::alltoall
