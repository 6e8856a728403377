// Send queues: posting, waiting requests, errors.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept;

// The caller of the following holds the QP's send lock.

/// Posts one request. 0 or errno.
int post_one(Qp& qp, const ibv_send_wr& request) noexcept;
/// A copy of the request and its scatter list, and of inline data.
QueuedSend copy_of(const ibv_send_wr& request, std::uint64_t sequence);
/// Tries the queued requests again, in order; those whose time has run out fail.
void retry_queue(Qp& qp) noexcept;
/// Serves the bits that peers set in this QP's `attention`.
void handle_attention(Qp& qp) noexcept;
/// Brings the QP to the error state and flushes everything outstanding.
void enter_error(Qp& qp) noexcept;
/// After the death of the peer's process: fails the first request and flushes the rest.
void fail_for_dead_peer(Qp& qp) noexcept;
/// In the SQD state: tells the program, once, that what was posted before it has been sent.
void report_drained(Qp& qp) noexcept;
/// Back to the reset state: nothing posted, no completion of it left.
void reset_qp(Qp& qp) noexcept;

}  // namespace weft::soft
