// Flat algorithms of alltoall, one file each. registry/flat_algorithms.cpp gives them their names.
#pragma once

#include "algorithm/forms.hpp"

namespace weft::alltoall {

using algorithm::Exchange;
using algorithm::Parameters;
/// The ops after which all blocks have arrived in their targets.
using Arrived = algorithm::Ops;

Arrived bruck(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
Arrived factors(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
Arrived irecv_isend(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
Arrived pairwise_xor(plan::Builder& builder, const Exchange& exchange,
                     const Parameters& parameters);
Arrived pairwise_ring(plan::Builder& builder, const Exchange& exchange,
                      const Parameters& parameters);
Arrived fat_tree(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);

/// The same in place, where no block is passed on: block(peer) is swapped with the peer's.
using BlockOfPeer = std::function<plan::Slice(int peer)>;

void swap_irecv_isend(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                      const Parameters& parameters);
void swap_pairwise_xor(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                       const Parameters& parameters);
void swap_pairwise_ring(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                        const Parameters& parameters);
void swap_fat_tree(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                   const Parameters& parameters);

}  // namespace weft::alltoall
