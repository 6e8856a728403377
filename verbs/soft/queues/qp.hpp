// Queue pairs as objects.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/process/objects.hpp"

namespace weft::soft {

ibv_qp* create_qp(ibv_pd* pd, const ibv_qp_init_attr& attributes, bool extended);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) noexcept;
int destroy_qp(ibv_qp* qp) noexcept;
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, ibv_qp_init_attr* initial) noexcept;
int modify_qp(ibv_qp* qp, const ibv_qp_attr& attributes, int mask) noexcept;

/// Whether `type` may go from one state to another with just these attributes: as the kernel
/// judges it for every adapter. 0 or EINVAL.
int check_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept;

/// Back to the reset state: nothing posted, no completion of it left. The caller holds the QP's
/// send lock.
void reset_qp(Qp& qp) noexcept;

}  // namespace weft::soft
