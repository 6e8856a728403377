// Which algorithm a call takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "alltoall/registry.hpp"
#include "hierarchy/machine.hpp"

namespace weft::comm {

/// What the choice may depend on: facts that all ranks share.
struct Facts {
  const hierarchy::Machine& machine;
  bool direct_views = false;  // local peers' buffers can be read where they lie
};

/// A first, fixed choice by size. On one node: the exchange through the stage, and from
/// kDirectBytes a block on direct reads where there are views. Across nodes: Bruck between nodes
/// while startups dominate (aggregates up to kBruckBytes), then irecv-isend, under send-side
/// aggregation; from kFlatBytes a block aggregation costs more copies than startups it saves.
alltoall::Algorithm choose_alltoall(const Facts& facts, std::uint64_t block_bytes);

}  // namespace weft::comm
