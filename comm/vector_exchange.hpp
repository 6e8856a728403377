// How a communicator does alltoallv: sizes are published inside the node, then each rank plans.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "alltoall/registry.hpp"
#include "engine/executor.hpp"

namespace weft::comm {

/// What alltoallv needs beside the calls of other collectives; made at the first. No rank knows the
/// sizes on other nodes, so nothing is agreed upon from call to call.
struct VectorExchange {
  alltoall::Algorithm algorithm;  // its stages fit whatever the sizes are
  /// Brings the rows of all ranks of the node to each of them. Nothing where a rank is alone there.
  std::optional<engine::Prepared> publish;
  std::size_t entry = 0;           // in statistics
  std::vector<plan::Block> rows;   // of the ranks of the node, by place, in this call
  std::vector<plan::Block> known;  // of the last call that was planned
  bool known_in_place = false;
};

}  // namespace weft::comm
