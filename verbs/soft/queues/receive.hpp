// Receive queues, the datapath: the owner posts, requesters take.
#pragma once

#include <infiniband/verbs.h>

#include <array>

#include "verbs/soft/queues/verbs_objects.hpp"
#include "verbs/soft/segment/control_layout.hpp"

namespace weft::soft {

/// A posted receive, copied out of its ring.
struct Receive {
  std::uint64_t wr_id;
  std::uint64_t sequence;
  std::uint32_t count;
  std::array<Sge, kMaxSge> sge;
};

/// Takes the next receive of `qp` (from its SRQ, if it has one) and notes it in `qp.taken` until
/// settle_receive. The caller holds the responder lock. False when none is posted.
bool take_receive(const ControlSegment& segment, QpBlock& qp, Receive& receive) noexcept;

/// The receive in `qp.taken` has its completion.
inline void settle_receive(QpBlock& qp) noexcept {
  qp.taken.valid = 0;
}

/// Repairs the state that a requester left when it died while delivering a message: its receive
/// goes back to the queue, or, when it came from an SRQ, is flushed. The caller holds the responder
/// lock.
void repair_receive(Peer& owner, QpBlock& qp) noexcept;

/// Completes all posted receives of `qp` with a flush error. The caller holds the responder lock.
void flush_receives(Peer& owner, QpBlock& qp) noexcept;

/// Lays out an empty ring in the process's segment. Throws when there is no memory.
void set_up_ring(Process& process, ReceiveRing& ring, std::uint32_t max_wr, std::uint32_t max_sge);
void tear_down_ring(Process& process, ReceiveRing& ring) noexcept;

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;

}  // namespace weft::soft
