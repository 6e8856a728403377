// Completion queues, the datapath: any process pushes, the owner polls.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/queues/verbs_objects.hpp"
#include "verbs/soft/segment/control_layout.hpp"

namespace weft::soft {

/// Appends to the CQ `index` of `peer` and raises its completion event if it was asked for.
/// A full CQ overflows: the entry is lost, its owner is told.
void push_completion(Peer& peer, std::uint32_t index, const Cqe& entry, bool solicited) noexcept;

/// True when the CQ holds an unpolled entry of the receive `sequence` of QP `qp`.
bool holds_receive(const ControlSegment& segment, const CqBlock& cq, std::uint32_t qp,
                   std::uint64_t sequence) noexcept;

/// Voids the entries of a QP that is reset or destroyed. The owner calls this when no peer can add
/// entries any more.
void purge_completions(Cq& cq, std::uint32_t qp) noexcept;

/// The next entry into `entry`; false when there is none. The caller holds the consumer lock.
bool take_completion(Cq& cq, Cqe& entry) noexcept;
/// After an empty poll: serves what is pending for this CQ. True when it is worth polling again.
bool progress_completions(Cq& cq) noexcept;

// The verbs.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) noexcept;
int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept;

}  // namespace weft::soft
