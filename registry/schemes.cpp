// The hierarchical schemes.
#include "alltoall/schemes/algorithms.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/inside_steps.hpp"
#include "reduce/schemes/algorithms.hpp"
#include "registry/all_algorithms.hpp"
#include "registry/rows_by_collective.hpp"

namespace weft::registry {

namespace {

using algorithm::ParameterSet;
using algorithm::SchemeForm;
using plan::Collective;
using enum algorithm::Parameter;

constexpr SchemeForm alltoall_by(ParameterSet reads, algorithm::EmitBlocks emit) {
  return {.collective = Collective::alltoall,
          .reads = reads | ParameterSet{direct, aggregate},
          .emit = emit,
          .between = Collective::alltoall};
}
constexpr SchemeForm in_two_steps(Collective collective, ParameterSet reads,
                                  algorithm::EmitProblem emit,
                                  std::span<const algorithm::InsideStep> inside) {
  return {.collective = collective,
          .reads = reads,
          .emit = emit,
          .between = collective,
          .inside = inside};
}
constexpr SchemeForm in_one_step(Collective collective, algorithm::EmitProblem emit,
                                 std::span<const algorithm::InsideStep> inside = {}) {
  return {.collective = collective, .reads = {}, .emit = emit, .inside = inside};
}
constexpr SchemeForm reduction_by_leaders(Collective collective, Collective between,
                                          algorithm::EmitVectors emit) {
  return {.collective = collective, .reads = {leaders, direct}, .emit = emit, .between = between};
}
constexpr SchemeForm allreduce(algorithm::EmitVectors emit) {
  return {.collective = Collective::allreduce, .reads = {direct}, .emit = emit};
}

constexpr std::array kSchemeTable = {
    Scheme{"sa",
           "aggregate on the sending node, then one partner a node",
           {alltoall_by({cores}, alltoall::send_aggregation)}},
    Scheme{"rd",
           "one partner a node, then distribute on the receiving node",
           {alltoall_by({cores}, alltoall::receive_distribution)}},
    Scheme{
        "leader",
        "some ranks of a node exchange for all of it",
        {alltoall_by({leaders}, alltoall::leader),
         in_two_steps(Collective::broadcast, {leaders, segment}, gather::leader_broadcast,
                      gather::kInsideSteps),
         in_two_steps(Collective::scatter, {leaders}, gather::leader_scatter, gather::kInsideSteps),
         in_two_steps(Collective::gather, {leaders}, gather::leader_gather, gather::kInsideSteps),
         in_two_steps(Collective::allgather, {leaders}, gather::leader_allgather,
                      gather::kInsideSteps),
         in_two_steps(Collective::barrier, {}, gather::leader_barrier, gather::kInsideBarrierSteps),
         reduction_by_leaders(Collective::reduce, Collective::reduce, reduce::leader_reduce),
         reduction_by_leaders(Collective::allreduce, Collective::allreduce, reduce::leader_reduce),
         reduction_by_leaders(Collective::reduce_scatter, Collective::reduce_scatter,
                              reduce::leader_reduce_scatter),
         reduction_by_leaders(Collective::scan, Collective::exscan, reduce::leader_scan),
         reduction_by_leaders(Collective::exscan, Collective::exscan, reduce::leader_scan)}},
    Scheme{"two-step",
           "aggregate inside each socket, then on the node, then one partner a node",
           {alltoall_by({}, alltoall::two_step)}},
    Scheme{"multi-object",
           "each rank of a node talks to another node; for small data",
           {in_one_step(Collective::broadcast, gather::multi_object_broadcast),
            in_one_step(Collective::scatter, gather::multi_object_scatter, gather::kInsideCopies),
            in_one_step(Collective::allgather, gather::multi_object_allgather),
            in_one_step(Collective::barrier, gather::multi_object_barrier)}},
    Scheme{"everyone",
           "every rank of the only node reduces for itself; for very short vectors",
           {{.collective = Collective::allreduce,
             .reads = {},
             .emit = reduce::everyone,
             .one_node = true}}},
    Scheme{"multi-doubling",
           "all ranks of a node exchange at once, base P + 1; for short vectors",
           {allreduce(reduce::multi_doubling)}},
    Scheme{"multi-bruck",
           "as multi-doubling, in fewer rounds where N is no power of P + 1",
           {{.collective = Collective::allreduce,
             .reads = {direct},
             .emit = reduce::multi_bruck,
             .keeps_order = false,
             .needs_associative = true}}},
    Scheme{"multi-ring",
           "all ranks of a node reduce, scatter and gather chunks; for long vectors",
           {allreduce(reduce::multi_ring)}},
};

constexpr auto kByCollective = by_collective<kSchemeTable>();

}  // namespace

std::span<const Scheme* const> schemes(Collective collective) {
  return kByCollective[static_cast<std::size_t>(collective)];
}

}  // namespace weft::registry
