// The send queue: posting, waiting requests, errors.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept;

// The caller of the following holds the QP's send lock.

/// Posts one request. 0 or errno.
int post_one(Qp& qp, const ibv_send_wr& request) noexcept;
/// A request that does not depend on the caller's memory for its structure.
QueuedSend copy_of(const ibv_send_wr& request, std::uint64_t sequence);
/// Tries the queued requests again, in order; gives up where their time has run out.
void retry_queue(Qp& qp) noexcept;
/// Does what peers asked of this QP.
void handle_attention(Qp& qp) noexcept;
/// To the error state: everything outstanding is flushed.
void enter_error(Qp& qp) noexcept;
/// The peer's process is gone: the first request fails, the rest is flushed.
void fail_for_dead_peer(Qp& qp) noexcept;
/// In the SQD state: tells the program, once, that what was posted before it has been sent.
void report_drained(Qp& qp) noexcept;
/// Back to the reset state: nothing posted, no completion of it left.
void reset_qp(Qp& qp) noexcept;

}  // namespace weft::soft
