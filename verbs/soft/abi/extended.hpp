// Extended verbs: CQs with ibv_start_poll and its readers, QPs with ibv_wr_*.
#pragma once

#include <infiniband/verbs.h>

namespace weft::soft {

/// A CQ with the functions of the extended polling interface. VerbError when refused.
ibv_cq_ex* create_pollable_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes);

// As ibv_create_cq_ex and ibv_create_qp_ex: nullptr and errno when refused.
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) noexcept;
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) noexcept;

}  // namespace weft::soft
