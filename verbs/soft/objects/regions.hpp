// Protection domains and memory regions.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd) noexcept;
ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access);
/// As ibv_rereg_mr: 0 or an ibv_rereg_mr_err_code.
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length,
             int access) noexcept;
int dereg_mr(ibv_mr* mr) noexcept;
/// Invalidates the regions that are left when a program closes their device.
void abandon_regions(Context& context) noexcept;

}  // namespace weft::soft
