// Objects that programs make: their creation, change and destruction.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

// Protection domains and memory regions.

ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd) noexcept;
ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access);
/// As ibv_rereg_mr: 0 or an ibv_rereg_mr_err_code.
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length,
             int access) noexcept;
int dereg_mr(ibv_mr* mr) noexcept;
/// Invalidates the regions that are left when a program closes their device.
void abandon_regions(Context& context) noexcept;

// Completion queues and completion channels.

/// Without the functions of the extended polling interface. VerbError when refused.
ibv_cq_ex* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes);
int destroy_cq(ibv_cq* cq) noexcept;

ibv_comp_channel* create_channel(ibv_context* context);
int destroy_channel(ibv_comp_channel* channel) noexcept;
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) noexcept;
void ack_cq_events(ibv_cq* cq, unsigned count) noexcept;

// Shared receive queues.

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes);
int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) noexcept;
int query_srq(ibv_srq* srq, ibv_srq_attr* attributes) noexcept;
int destroy_srq(ibv_srq* srq) noexcept;

// Queue pairs.

/// An `extended` QP still lacks the functions of the extended posting interface. VerbError when
/// refused.
ibv_qp* create_qp(ibv_pd* pd, const ibv_qp_init_attr& attributes, bool extended);
int destroy_qp(ibv_qp* qp) noexcept;
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, ibv_qp_init_attr* initial) noexcept;
int modify_qp(ibv_qp* public_qp, const ibv_qp_attr& wanted, int mask) noexcept;

// Address handles.

ibv_ah* create_ah(ibv_pd* pd, const ibv_ah_attr& attributes);
int destroy_ah(ibv_ah* ah) noexcept;
/// As ibv_init_ah_from_wc: 0, or -1 when the completion's GRH names none of our GIDs.
int init_ah_from_wc(ibv_context* context, std::uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
                    ibv_ah_attr& attributes) noexcept;

}  // namespace weft::soft
