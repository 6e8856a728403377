// Hierarchical schemes of broadcast, scatter, gather, allgather and barrier, one file each.
// registry/schemes.cpp gives them their names.
#pragma once

#include "algorithm/forms.hpp"

namespace weft::gather {

using algorithm::Parameters;

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
