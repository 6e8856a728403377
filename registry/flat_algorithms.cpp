// The flat algorithms.
#include "alltoall/flat/algorithms.hpp"
#include "gather/flat/algorithms.hpp"
#include "gather/flat/barriers.hpp"
#include "reduce/flat/algorithms.hpp"
#include "registry/all_algorithms.hpp"
#include "registry/rows_by_collective.hpp"

namespace weft::registry {

namespace {

using algorithm::FlatForm;
using algorithm::ParameterSet;
using plan::Collective;
using enum algorithm::Parameter;
using namespace gather;  // NOLINT(google-build-using-namespace): trees, and what goes along them

constexpr FlatForm form(Collective collective, ParameterSet reads, algorithm::EmitTeam emit) {
  return {.collective = collective, .reads = reads, .emit = emit};
}
constexpr FlatForm barrier(ParameterSet reads, algorithm::EmitBarrier emit) {
  return {.collective = Collective::barrier, .reads = reads, .emit = emit};
}
constexpr FlatForm exchange(ParameterSet reads, algorithm::EmitExchange emit,
                            algorithm::EmitSwaps swap) {
  return {.collective = Collective::alltoall, .reads = reads, .emit = emit, .swap = swap};
}
/// A reduction that keeps the order of the ranks.
constexpr FlatForm in_order(Collective collective, ParameterSet reads,
                            algorithm::EmitReduction emit) {
  return {.collective = collective, .reads = reads, .emit = emit};
}
constexpr FlatForm not_in_order(Collective collective, ParameterSet reads,
                                algorithm::EmitReduction emit) {
  return {.collective = collective, .reads = reads, .emit = emit, .keeps_order = false};
}
/// A reduce_scatter of blocks with gaps and in any order.
constexpr FlatForm of_any_blocks(FlatForm one) {
  one.takes_any_blocks = true;
  return one;
}
/// An alltoall that passes on blocks of other ranks.
constexpr FlatForm forwarding(ParameterSet reads, algorithm::EmitExchange emit) {
  return {.collective = Collective::alltoall, .reads = reads, .emit = emit, .forwards = true};
}
/// The same of an alltoallv, whose blocks lie in slots of one size on their way.
constexpr FlatForm in_slots(ParameterSet reads, algorithm::EmitExchange emit) {
  FlatForm form = forwarding(reads, emit);
  form.collective = Collective::alltoallv;
  form.in_slots = true;
  return form;
}

constexpr std::array kFlatTable = {
    // Trees.
    FlatAlgorithm{
        "binomial",
        "a tree of few rounds, in each of which all that have data pass them on",
        {form(Collective::broadcast, {radix, segment}, along<tree_broadcast, binomial_tree>),
         form(Collective::scatter, {radix, segment}, along<tree_scatter, binomial_tree>),
         form(Collective::gather, {radix, segment}, along<tree_gather, binomial_tree>),
         barrier({radix}, barrier_along<binomial_tree>),
         in_order(Collective::reduce, {}, reduce::reduce_binomial)}},
    FlatAlgorithm{"binary",
                  "a tree of two children each: few rounds, and segments flow",
                  {form(Collective::broadcast, {segment}, along<tree_broadcast, binary_tree>),
                   form(Collective::scatter, {segment}, along<tree_scatter, binary_tree>),
                   form(Collective::gather, {segment}, along<tree_gather, binary_tree>),
                   barrier({}, barrier_along<binary_tree>),
                   in_order(Collective::reduce, {segment}, reduce::reduce_binary),
                   in_order(Collective::allreduce, {segment}, reduce::allreduce_binary)}},
    FlatAlgorithm{"chain",
                  "from each to the next, for long data in segments",
                  {form(Collective::broadcast, {segment}, along<tree_broadcast, chain_tree>),
                   form(Collective::scatter, {segment}, along<tree_scatter, chain_tree>),
                   form(Collective::gather, {segment}, along<tree_gather, chain_tree>),
                   in_order(Collective::reduce, {segment}, reduce::reduce_chain),
                   in_order(Collective::allreduce, {segment}, reduce::allreduce_chain),
                   in_order(Collective::scan, {segment}, reduce::scan_chain),
                   in_order(Collective::exscan, {segment}, reduce::exscan_chain)}},
    FlatAlgorithm{"sequential",
                  "the root with each, all at once",
                  {form(Collective::broadcast, {segment}, along<tree_broadcast, sequential_tree>),
                   form(Collective::scatter, {segment}, along<tree_scatter, sequential_tree>),
                   form(Collective::gather, {segment}, along<tree_gather, sequential_tree>),
                   barrier({}, barrier_along<sequential_tree>)}},

    // Rings.
    FlatAlgorithm{"ring",
                  "around a ring, each to its neighbour what came last; for long data",
                  {form(Collective::allgather, {}, allgather_by<ring_allgather>),
                   barrier({}, barrier_by<ring_barrier>),
                   in_order(Collective::reduce, {segment}, reduce::reduce_ring),
                   in_order(Collective::allreduce, {segment}, reduce::allreduce_ring),
                   of_any_blocks(not_in_order(Collective::reduce_scatter, {segment},
                                              reduce::reduce_scatter_ring))}},
    FlatAlgorithm{
        "neighbour-ring",
        "blocks twice around a ring, in segments",
        {not_in_order(Collective::allreduce, {segment}, reduce::allreduce_neighbour_ring)}},
    FlatAlgorithm{"pairwise-ring",
                  "one partner each way at a time, around a ring",
                  {exchange({}, alltoall::pairwise_ring, alltoall::swap_pairwise_ring)}},
    FlatAlgorithm{"neighbor",
                  "pairs of neighbours in turn; half the rounds of a ring",
                  {form(Collective::allgather, {}, allgather_by<neighbor_allgather>)}},

    // Exchanges of pairs.
    FlatAlgorithm{"isend",
                  "every block straight to its destination, all at once",
                  {exchange({window}, alltoall::irecv_isend, alltoall::swap_irecv_isend)}},
    FlatAlgorithm{"pairwise",
                  "one partner each way at a time; for long vectors",
                  {of_any_blocks(in_order(Collective::reduce_scatter, {segment},
                                          reduce::reduce_scatter_pairwise))}},
    FlatAlgorithm{"pairwise-xor",
                  "one partner at a time, rank XOR step",
                  {exchange({}, alltoall::pairwise_xor, alltoall::swap_pairwise_xor)}},
    FlatAlgorithm{"fat-tree",
                  "one partner each way at a time, switch by switch",
                  {exchange({arity}, alltoall::fat_tree, alltoall::swap_fat_tree)}},

    // Distances that double or halve.
    FlatAlgorithm{"bruck",
                  "few messages, blocks passed on; for small blocks",
                  {forwarding({radix}, alltoall::bruck), in_slots({radix, slot}, alltoall::bruck),
                   form(Collective::allgather, {radix}, allgather_by_bruck)}},
    FlatAlgorithm{"factors",
                  "along each dimension of a grid in turn; blocks passed on, none packed",
                  {forwarding({radix}, alltoall::factors)}},
    FlatAlgorithm{"dissemination",
                  "each rank signals one at twice the distance each round",
                  {barrier({radix}, barrier_by_dissemination)}},
    FlatAlgorithm{"tournament",
                  "pairs meet, winners go on, the champion releases all",
                  {barrier({}, barrier_by<tournament_barrier>)}},
    FlatAlgorithm{"doubling",
                  "pairs exchange all they have, at twice the distance each round",
                  {form(Collective::allgather, {}, allgather_by<doubling_allgather>),
                   in_order(Collective::scan, {}, reduce::scan_doubling),
                   in_order(Collective::exscan, {}, reduce::exscan_doubling)}},
    FlatAlgorithm{
        "recursive-doubling",
        "whole vectors exchanged in pairs, neighbours first; for short vectors",
        {in_order(Collective::allreduce, {}, reduce::allreduce_recursive_doubling),
         in_order(Collective::reduce_scatter, {}, reduce::reduce_scatter_recursive_doubling)}},
    FlatAlgorithm{
        "recursive-halving",
        "members split in halves, lg p rounds",
        {not_in_order(Collective::reduce_scatter, {}, reduce::reduce_scatter_recursive_halving)}},
    FlatAlgorithm{"halving-doubling",
                  "vectors halved recursively, and put together again; for long vectors",
                  {in_order(Collective::reduce, {}, reduce::reduce_halving_doubling),
                   in_order(Collective::allreduce, {}, reduce::allreduce_halving_doubling)}},
    FlatAlgorithm{"binary-blocks",
                  "halving and doubling in blocks of powers of two",
                  {in_order(Collective::reduce, {}, reduce::reduce_binary_blocks),
                   in_order(Collective::allreduce, {}, reduce::allreduce_binary_blocks)}},
    FlatAlgorithm{"adaptive",
                  "exchanges, scatters or folds, whatever is best at each level",
                  {in_order(Collective::allreduce, {latency}, reduce::allreduce_adaptive)}},

    // The same with nearer partners.
    FlatAlgorithm{"bine",
                  "trees and butterflies whose partners are nearer; for tapered networks",
                  {form(Collective::broadcast, {segment}, broadcast_by_bine),
                   form(Collective::allgather, {}, allgather_by<bine_allgather>),
                   in_order(Collective::reduce, {}, reduce::reduce_bine),
                   not_in_order(Collective::allreduce, {}, reduce::allreduce_bine),
                   not_in_order(Collective::reduce_scatter, {}, reduce::reduce_scatter_bine)}},
    FlatAlgorithm{
        "bine-doubling",
        "whole vectors exchanged in pairs, the farthest first, none as far as in doubling",
        {not_in_order(Collective::allreduce, {}, reduce::allreduce_bine_doubling)}},

    // Two collectives after one another.
    FlatAlgorithm{"scatter-doubling",
                  "parts scattered, then all to all by recursive doubling",
                  {form(Collective::broadcast, {}, by_parts<doubling_allgather>)}},
    FlatAlgorithm{"scatter-ring",
                  "parts scattered, then all to all around a ring; for long data",
                  {form(Collective::broadcast, {}, by_parts<ring_allgather>)}},
    FlatAlgorithm{"gather-broadcast",
                  "to the first rank and back, along binomial trees",
                  {form(Collective::allgather, {radix}, along<gather_broadcast, binomial_tree>)}},
    FlatAlgorithm{"reduce-broadcast",
                  "a binomial tree to the first member and back",
                  {in_order(Collective::allreduce, {}, reduce::allreduce_binomial)}},
    FlatAlgorithm{"gather",
                  "all vectors to the root, which reduces; for very short vectors",
                  {in_order(Collective::reduce, {}, reduce::reduce_gather)}},
    FlatAlgorithm{"allgather",
                  "all vectors to all ranks, which reduce; for very short vectors",
                  {in_order(Collective::allreduce, {}, reduce::allreduce_allgather)}},
};

// The algorithms of each collective, in order: the first one is the default between nodes.
constexpr auto kAlltoall = in_order_of<kFlatTable, Collective::alltoall>(
    {"isend", "bruck", "pairwise-xor", "pairwise-ring", "fat-tree", "factors"});
constexpr auto kBroadcast = in_order_of<kFlatTable, Collective::broadcast>(
    {"binomial", "binary", "chain", "sequential", "scatter-doubling", "scatter-ring", "bine"});
constexpr auto kScatter =
    in_order_of<kFlatTable, Collective::scatter>({"binomial", "binary", "chain", "sequential"});
constexpr auto kGather =
    in_order_of<kFlatTable, Collective::gather>({"binomial", "binary", "chain", "sequential"});
constexpr auto kAllgather = in_order_of<kFlatTable, Collective::allgather>(
    {"ring", "doubling", "bruck", "neighbor", "gather-broadcast", "bine"});
constexpr auto kBarrier = in_order_of<kFlatTable, Collective::barrier>(
    {"dissemination", "tournament", "binomial", "binary", "sequential", "ring"});
constexpr auto kReduce = in_order_of<kFlatTable, Collective::reduce>(
    {"binomial", "chain", "binary", "gather", "halving-doubling", "binary-blocks", "ring", "bine"});
constexpr auto kAllreduce = in_order_of<kFlatTable, Collective::allreduce>(
    {"recursive-doubling", "reduce-broadcast", "chain", "binary", "allgather", "halving-doubling",
     "binary-blocks", "ring", "neighbour-ring", "adaptive", "bine", "bine-doubling"});
constexpr auto kReduceScatter = in_order_of<kFlatTable, Collective::reduce_scatter>(
    {"pairwise", "recursive-halving", "recursive-doubling", "ring", "bine"});
constexpr auto kScan = in_order_of<kFlatTable, Collective::scan>({"doubling", "chain"});
constexpr auto kExscan = in_order_of<kFlatTable, Collective::exscan>({"doubling", "chain"});

}  // namespace

std::span<const FlatAlgorithm* const> flat_algorithms(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
    case Collective::alltoallv:
      return kAlltoall;
    case Collective::broadcast:
      return kBroadcast;
    case Collective::scatter:
      return kScatter;
    case Collective::gather:
      return kGather;
    case Collective::allgather:
      return kAllgather;
    case Collective::barrier:
      return kBarrier;
    case Collective::reduce:
      return kReduce;
    case Collective::allreduce:
      return kAllreduce;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::scan:
      return kScan;
    case Collective::exscan:
      return kExscan;
  }
  return {};
}

}  // namespace weft::registry
