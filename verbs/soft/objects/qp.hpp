// Queue pairs: creation, change of state, destruction.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

/// An `extended` QP still lacks the functions of the extended posting interface. VerbError when
/// refused.
ibv_qp* create_qp(ibv_pd* pd, const ibv_qp_init_attr& attributes, bool extended);
int destroy_qp(ibv_qp* qp) noexcept;
int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, ibv_qp_init_attr* initial) noexcept;
int modify_qp(ibv_qp* qp, const ibv_qp_attr& attributes, int mask) noexcept;

}  // namespace weft::soft
