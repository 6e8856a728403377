// How a communicator does alltoallv: each rank plans by itself, from its own rows or its node's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "alltoall/registry.hpp"
#include "comm/calls/task.hpp"
#include "engine/run/executor.hpp"

namespace weft::comm {

/// What alltoallv needs beside the calls of other collectives; made at the first. No rank knows the
/// sizes on other nodes, so nothing is agreed upon from call to call.
///
/// A rank's row is where the blocks lie that it sends to each, then those that it receives from
/// each. The plan of the last call is used again where it is the plan that would be made anew. Why
/// none is ever stale: a plan is a function of the machine and the algorithm, which stay, and of
///
/// - where the algorithm needs no other rows, the rank's own: it is kept as long as that is, byte
///   for byte, what the last call gave. What others do does not enter, and where a pair's size
///   changes it changes at both ends, as MPI has both name it: both plan anew.
/// - elsewhere the rows of all ranks of the node, `of_node`. Each rank tells the others one word:
///   whether its row is another than in its last call. All see the same words. If one has changed
///   all ranks publish their rows and plan anew; if none has, `of_node` holds the rows of this
///   call, as it held those of the last. So all ranks of a node go the same way at each call, and
///   after each they hold the same rows: those of that call.
struct VectorExchange {
  alltoall::Algorithm algorithm;  // its stages fit whatever the sizes are
  std::size_t entry = 0;          // in statistics
  std::vector<plan::Block> own;   // this rank's row in its last call
  bool in_place = false;          // likewise: as all ranks do at once

  /// Where plans need the rows of the whole node: both bring what each rank has to all of them.
  std::optional<engine::Prepared> tell_news;
  std::optional<engine::Prepared> publish;
  std::vector<std::uint64_t> news;   // by place: the row is another than in the last call
  std::vector<plan::Block> of_node;  // rows, by place

  /// Whether `task` brings another row than the last call. It is the last one from now on.
  bool take_up(const Task& task);
};

}  // namespace weft::comm
