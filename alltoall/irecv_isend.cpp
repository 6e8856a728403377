// Irecv-isend: every rank talks to every other directly, all at once.
//
//   rank 0 sends:   step 1 --> 1     rank 2 sends:   step 1 --> 3
//                   step 2 --> 2                     step 2 --> 0
//                   step 3 --> 3                     step 3 --> 1
//
// In step i a rank receives from rank-i and sends to rank+i, so that not all turn to rank 0 first;
// no step waits for another.
//
// With p members and blocks of m bytes, a member:
//   rounds    1 (p > 1): no message follows another
//   messages  p - 1
//   bytes     (p - 1) m: every block crosses once
//   copied    m (its own block)
//   stage 0, scratch 0; blocks that are not one slice are packed into as much scratch
// Blocks of different sizes: the same without those of 0 bytes.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.3; Kumar, Mamidala, Panda, "Scaling Alltoall Collective on
// Multi-core Systems", 2008, section 2.4.
#include "alltoall/algorithms.hpp"
#include "alltoall/transfer.hpp"

namespace weft::alltoall {

Arrived irecv_isend(plan::Builder& builder, const Exchange& exchange, const Parameters&) {
  Arrived arrived(exchange.members.size());
  for (int step = 1; step < exchange.size(); ++step) {
    const int from = around(exchange, exchange.self, -step);
    receive_block(builder, exchange, from, arrived[from]);
    send_block(builder, exchange, around(exchange, exchange.self, step));
  }
  copy_own_block(builder, exchange, arrived);
  return arrived;
}

}  // namespace weft::alltoall
