// Completion queues: pushing from any process, polling by the owner.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/process/layout.hpp"
#include "verbs/soft/process/objects.hpp"

namespace weft::soft {

/// Appends to the CQ `index` of `peer` and raises its completion event if it was asked for.
/// A full CQ overflows: the entry is lost, its owner is told.
void push_completion(Peer& peer, std::uint32_t index, const Cqe& entry, bool solicited) noexcept;

/// Whether the CQ holds an entry, not yet polled, of the receive `sequence` of QP `qp`.
bool holds_receive(const Segment& segment, const CqBlock& cq, std::uint32_t qp,
                   std::uint64_t sequence) noexcept;

/// Voids the entries of a QP that goes away. The owner calls this when no peer can add any.
void purge_completions(Cq& cq, std::uint32_t qp) noexcept;

/// The next entry into `entry`; false when there is none. The caller holds the consumer lock.
bool take_completion(Cq& cq, Cqe& entry) noexcept;
/// After an empty poll: serves what is pending for this CQ. True when it is worth another look.
bool progress_completions(Cq& cq) noexcept;

// The verbs.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) noexcept;
int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept;
ibv_cq_ex* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) noexcept;
int destroy_cq(ibv_cq* cq) noexcept;
void install_extended_poll(Cq& cq) noexcept;

ibv_comp_channel* create_channel(ibv_context* context);
int destroy_channel(ibv_comp_channel* channel) noexcept;
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) noexcept;
void ack_cq_events(ibv_cq* cq, unsigned count) noexcept;

}  // namespace weft::soft
