// Shape of a plan: what its rank does, whoever the rank and its peers are.
#pragma once

#include <cstdint>
#include <optional>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"

namespace weft::sim {

/// A hash of the numbers of messages and signals inside the node and to other nodes, of their bytes
/// to within about a hundredth, and of the bytes that are copied and reduced to within an eighth.
/// Equal for ranks that do the same, in whatever order they go through their peers.
std::uint64_t shape_of(const plan::Plan& plan, const hierarchy::Machine& machine);

/// The first recvs or waits that an op follows: of peers on the same node, and on other ones.
struct FirstNeeds {
  std::optional<plan::OpId> local;
  std::optional<plan::OpId> remote;
};
/// `op` may be the number of ops: the needs of all of them.
FirstNeeds first_needs(const plan::Plan& plan, const hierarchy::Machine& machine, plan::OpId op);

/// The first send to another node; where there is none, the first send or signal; where there is
/// none of these either, the number of ops.
plan::OpId first_telling(const plan::Plan& plan, const hierarchy::Machine& machine);

/// Whether messages come from one or two neighbours of the node alone, many from each, as around a
/// ring.
bool is_ring(const plan::Plan& plan, const hierarchy::Machine& machine);

/// The last recv or wait among the first `count` ops: from another node, if there is any.
std::optional<plan::OpId> last_need(const plan::Plan& plan, const hierarchy::Machine& machine,
                                    plan::OpId count);

/// The op of `plan` that is the counterpart of `need`, a recv or wait of `needing`. nullopt where
/// there is none.
std::optional<plan::OpId> counterpart_in(const plan::Plan& plan, const plan::Plan& needing,
                                         plan::OpId need);

}  // namespace weft::sim
