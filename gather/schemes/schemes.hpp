// The hierarchical schemes. Only the registry and the schemes include this.
#pragma once

#include "gather/registry.hpp"

namespace weft::gather {

void leader_broadcast(plan::Builder& builder, const plan::Problem& problem,
                      const hierarchy::Machine& machine, const Parameters& parameters);
void leader_scatter(plan::Builder& builder, const plan::Problem& problem,
                    const hierarchy::Machine& machine, const Parameters& parameters);
void leader_gather(plan::Builder& builder, const plan::Problem& problem,
                   const hierarchy::Machine& machine, const Parameters& parameters);
void leader_allgather(plan::Builder& builder, const plan::Problem& problem,
                      const hierarchy::Machine& machine, const Parameters& parameters);
void leader_barrier(plan::Builder& builder, const plan::Problem& problem,
                    const hierarchy::Machine& machine, const Parameters& parameters);
void multi_object_broadcast(plan::Builder& builder, const plan::Problem& problem,
                            const hierarchy::Machine& machine, const Parameters& parameters);
void multi_object_scatter(plan::Builder& builder, const plan::Problem& problem,
                          const hierarchy::Machine& machine, const Parameters& parameters);
void multi_object_allgather(plan::Builder& builder, const plan::Problem& problem,
                            const hierarchy::Machine& machine, const Parameters& parameters);
void multi_object_barrier(plan::Builder& builder, const plan::Problem& problem,
                          const hierarchy::Machine& machine, const Parameters& parameters);

}  // namespace weft::gather
