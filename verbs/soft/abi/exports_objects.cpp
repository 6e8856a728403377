// Exported functions: memory, queues and address handles of libibverbs.
#include <cerrno>
#include <cstring>

#include "verbs/soft/abi/export.hpp"
#include "verbs/soft/abi/extended.hpp"
#include "verbs/soft/objects/objects.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"

namespace soft = weft::soft;

// Memory.

WEFT_VERB ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return soft::make_object([&] { return soft::alloc_pd(context); });
}
WEFT_VERB int ibv_dealloc_pd(ibv_pd* pd) {
  return soft::dealloc_pd(pd);
}
WEFT_VERB ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length,
                                   std::uint64_t iova, unsigned access) {
  return soft::make_object([&] { return soft::reg_mr(pd, address, length, iova, access); });
}
WEFT_VERB ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                  int access) {
  return ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}
WEFT_VERB ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                          static_cast<unsigned>(access));
}
WEFT_VERB ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  errno = EOPNOTSUPP;
  return nullptr;
}
WEFT_VERB int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length,
                           int access) {
  return soft::rereg_mr(mr, flags, pd, address, length, access);
}
WEFT_VERB int ibv_dereg_mr(ibv_mr* mr) {
  return soft::dereg_mr(mr);
}

// Completion queues.

WEFT_VERB ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return soft::make_object([&] { return soft::create_channel(context); });
}
WEFT_VERB int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return soft::destroy_channel(channel);
}
WEFT_VERB ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context,
                                ibv_comp_channel* channel, int comp_vector) {
  return soft::make_object([&]() -> ibv_cq* {
    if (cqe <= 0 || comp_vector < 0) throw soft::VerbError(EINVAL);
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = static_cast<std::uint32_t>(cqe);
    attributes.cq_context = cq_context;
    attributes.channel = channel;
    attributes.comp_vector = static_cast<std::uint32_t>(comp_vector);
    return reinterpret_cast<ibv_cq*>(soft::create_pollable_cq(context, attributes));
  });
}
WEFT_VERB int ibv_resize_cq(ibv_cq*, int) {
  return EOPNOTSUPP;
}
WEFT_VERB int ibv_destroy_cq(ibv_cq* cq) {
  return soft::destroy_cq(cq);
}
WEFT_VERB int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return soft::get_cq_event(channel, cq, cq_context);
}
WEFT_VERB void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  soft::ack_cq_events(cq, count);
}

// Shared receive queues.

WEFT_VERB ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  return soft::make_object([&] { return soft::create_srq(pd, attributes); });
}
WEFT_VERB int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  return soft::modify_srq(srq, attributes, mask);
}
WEFT_VERB int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  return soft::query_srq(srq, attributes);
}
WEFT_VERB int ibv_destroy_srq(ibv_srq* srq) {
  return soft::destroy_srq(srq);
}

// Queue pairs.

WEFT_VERB ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  return soft::make_object([&] { return soft::create_qp(pd, *attributes, false); });
}
WEFT_VERB ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return soft::of(qp).extended ? &soft::of(qp) : nullptr;
}
WEFT_VERB int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return soft::modify_qp(qp, *attributes, mask);
}
WEFT_VERB int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* initial) {
  return soft::query_qp(qp, attributes, initial);
}
/// 1: the last aligned 8 bytes of an RDMA write become visible last, on every path.
WEFT_VERB int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode opcode, std::uint32_t flags) {
  return opcode == IBV_WR_RDMA_WRITE && flags == 0 ? 1 : 0;
}
WEFT_VERB int ibv_destroy_qp(ibv_qp* qp) {
  return soft::destroy_qp(qp);
}
WEFT_VERB int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
  return ece->vendor_id == 0 ? 0 : EOPNOTSUPP;
}
WEFT_VERB int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
  std::memset(ece, 0, sizeof(*ece));
  return 0;
}
WEFT_VERB int ibv_attach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) {
  return EOPNOTSUPP;
}
WEFT_VERB int ibv_detach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) {
  return EOPNOTSUPP;
}

// Address handles.

WEFT_VERB ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return soft::make_object([&] { return soft::create_ah(pd, *attributes); });
}
WEFT_VERB int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                  ibv_ah_attr* attributes) {
  return soft::init_ah_from_wc(context, port, *wc, grh, *attributes);
}
WEFT_VERB ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attributes;
  if (soft::init_ah_from_wc(pd->context, port, *wc, grh, attributes) != 0) return nullptr;
  return ibv_create_ah(pd, &attributes);
}
WEFT_VERB int ibv_destroy_ah(ibv_ah* ah) {
  return soft::destroy_ah(ah);
}
WEFT_VERB int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*,
                                          std::uint16_t*) {
  return -ENOSYS;
}
