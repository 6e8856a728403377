// Slots: an alltoallv by an algorithm that passes blocks on, padded to a size that all ranks know.
//
// A rank on the way of a block does not know its size. So each pair has a slot of S bytes
// (Parameters::slot) in the messages, however much there is: a block of up to S bytes lies at its
// beginning, and what follows is sent as it happens to be. Both ends of a pair know the size, so
// the receiver takes as much as there is, and larger blocks go straight to their ranks, all at
// once. S is a matter of speed alone: every S is right for all counts.
//
//   S = 8         slot       1        2        3
//   rank 0 sends             abc.....  (40 bytes: straight, slot unused)  ........
//
// With p ranks, by Bruck's algorithm of radix r, a rank (its own block apart):
//   rounds    those of an alltoall of blocks of S bytes
//   messages  those of it, and one for each block of more than S bytes
//   bytes     those of it, and those of the larger blocks
//   copied    its small blocks twice (packed, and delivered), and at most twice what it passes on
//   scratch   at most twice the bytes of an alltoall's messages, each rounded up to 64: a bound
//             that follows from p, r and S
// In place: small blocks are copied to scratch first, at most p S more; larger ones are swapped.
//
// Between nodes the schemes do the same with what they have put together inside a node
// (send_aggregation.cpp).
//
// Source: "padded Bruck" in Fan, Gilray, Pascucci, Huang, Micinski, Kumar, "Optimizing the Bruck
// Algorithm for Non-uniform All-to-all Communication", HPDC 2022, section 3.1, where S is the
// largest block of all, asked for by an allreduce before each call; large blocks beside it as in
// UCC's alltoallv "hybrid".
#pragma once

#include "alltoall/flat/algorithms.hpp"
#include "hierarchy/local_blocks.hpp"

namespace weft::alltoall {

/// `form` passes blocks on, and takes sources and targets that fill the beginning of their slots.
Arrived exchange_in_slots(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                          const algorithm::FlatForm& form, const Parameters& parameters);

/// A bound of the scratch of such a plan by Bruck's algorithm, for all counts, in place or not.
std::uint64_t slots_scratch_bytes(int ranks, const Parameters& parameters);

}  // namespace weft::alltoall
