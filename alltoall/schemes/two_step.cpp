// Two-step aggregation by socket and node: what SA does in one step on the sending node takes two,
// first inside each socket, then between the sockets of the node; then each rank talks to one rank
// of every other node.
//
//   node A, sockets A0 A1 | A2 A3           step 1, inside a socket: A0 and A1 put what they have
//   A0 --. step 1    step 2                 for ranks 2 and 3 of other nodes into the stages of
//   A1 --+-> stage of A0 ---> stage of A2   their own socket, for rank 2 into that of A0, for
//   A2 --+-> stage of A2                    rank 3 into that of A1;
//   A3 --'              step 3: A2 ---> B2  step 2, between sockets: A0 passes on to A2, in one
//                                           piece for each node, what A0 and A1 have for B2, C2
//
// So a rank writes to its own socket, and to one rank of each other socket rather than to all of
// them: fewer signals cross between sockets, and what crosses is long. That costs a second copy of
// what another socket's rank sends.
//
// The relay of a socket for a rank of another is the one that stands there as that rank does in its
// own socket, modulo the ranks there. A rank alone in its socket puts its blocks straight into the
// stage that they are sent from. Messages are those of SA, and so are blocks within the node. On
// nodes of one socket, or one rank a socket, this is SA to the op.
//
// Equal blocks of m bytes: with N nodes, P ranks on the node at hand and Q of them in the socket at
// hand, q other sockets of one rank, R_all ranks on all other nodes, R of them represented by the
// rank (SA), `isend` between nodes; V bytes that the rank relays: the sum of R(y) Q m over those
// ranks y of other sockets that it is the relay for, of which A have R(y) > 0 (V = A = 0 if Q = 1);
// each part of a stage rounded up to 64 bytes:
//   rounds      1 (N > 1)
//   messages    R
//   bytes       R P m
//   copied      staged R_all m + V + (2 P - 1) m; direct R (Q + q) m + 2 V + P m; if P = 1 as SA
//   stage       staged R P m + (P - 1) m + V; direct R P m + V; if P = 1 as SA
//   signals     staged one to each rank of the socket that represents a rank or relays for one that
//               does (if Q = 1 to each of the node that represents one), A, and P - 1;
//               direct 2 (P - 1) + A
//   scratch     as SA
// On N nodes of S sockets of Q > 1 ranks: V = (S - 1) (N - 1) Q m, signals staged Q - 1 + S - 1 +
// P - 1, where SA has P - 1 + P - 1. Of these S - 1 cross between sockets before the messages,
// where SA has P - Q.
//
// With another step between nodes, blocks of any size, blocks above `aggregate` and in place: as
// for SA (send_aggregation.cpp).
//
// Source: send-side aggregation of Kumar, Mamidala, Panda, "Scaling Alltoall Collective on
// Multi-core Systems", 2008, section 5, done once more among the sockets of a node; locality-aware
// aggregation by levels is that of Bienz, Gropp, Olson, "Reducing communication in algebraic
// multigrid with multi-step node aware communication", IJHPCA 34(5), 2020. Uneven and interleaved
// sockets are ours.
#include "alltoall/schemes/aggregation.hpp"
#include "alltoall/schemes/algorithms.hpp"

namespace weft::alltoall {

void two_step(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
              const hierarchy::Machine& machine, const Parameters& parameters) {
  aggregate(builder, blocks, machine, parameters, lanes_of_columns(machine, 0), Gather::by_domains);
}

}  // namespace weft::alltoall
