// Irecv-isend: every rank talks to every other directly, all at once or some at a time.
//
//   rank 0 sends:   step 1 --> 1     rank 2 sends:   step 1 --> 3
//                   step 2 --> 2                     step 2 --> 0
//                   step 3 --> 3                     step 3 --> 1
//
// In step i a rank receives from rank-i and sends to rank+i, so that not all turn to rank 0 first;
// no step waits for another. With a window of w, a step that has a message waits for the w-th
// before it that has one: at most w each way are under way. A step waits only for lower ones, so
// the ranks cannot wait in a circle.
//
// With p members and blocks of m bytes, a member:
//   rounds    1 (p > 1): no message follows another; with a window ceil((p - 1) / w)
//   messages  p - 1
//   bytes     (p - 1) m: every block crosses once
//   copied    m (its own block)
//   stage 0, scratch 0; blocks that are not one slice are packed into as much scratch
// Blocks of different sizes: the same without those of 0 bytes, and with a window at most as many
// rounds.
// In place: blocks are swapped (swap.hpp), in step s with s - rank, at most `window` segments at a
// time.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.3; Kumar, Mamidala, Panda, "Scaling Alltoall Collective on
// Multi-core Systems", 2008, section 2.4.
#include <array>

#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/swap.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

using plan::After;
using plan::kNoOp;
using plan::OpId;

Arrived irecv_isend(plan::Builder& builder, const Exchange& exchange,
                    const Parameters& parameters) {
  Transfers transfers(builder, exchange);
  const auto window = static_cast<std::size_t>(parameters.window);
  std::vector<std::array<OpId, 2>> steps;  // those with a message, where there is a window
  for (int step = 1; step < exchange.size(); ++step) {
    std::array<OpId, 2> before = {kNoOp, kNoOp};
    if (window > 0 && steps.size() >= window) before = steps[steps.size() - window];
    const After behind(before);
    const OpId received = transfers.receive(around(exchange, exchange.self, -step), behind);
    const OpId sent = transfers.send(around(exchange, exchange.self, step), behind);
    if (window > 0 && (received != kNoOp || sent != kNoOp)) steps.push_back({received, sent});
  }
  return std::move(transfers).finish();
}

void swap_irecv_isend(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                      const Parameters& parameters) {
  swap_blocks(builder, Digits::ring(ranks), parameters.window, block);
}

}  // namespace weft::alltoall
