// Shared receive queues: creation, limits, destruction.
#pragma once

#include <infiniband/verbs.h>

namespace weft::soft {

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes);
int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) noexcept;
int query_srq(ibv_srq* srq, ibv_srq_attr* attributes) noexcept;
int destroy_srq(ibv_srq* srq) noexcept;

}  // namespace weft::soft
