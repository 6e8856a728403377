// Protection domains and memory regions.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/soft/process/layout.hpp"
#include "verbs/soft/process/objects.hpp"

namespace weft::soft {

/// The entry that `key` names in the table of `segment`, if it is valid, of protection domain `pd`
/// and covers [address, address + bytes) with all of `access`; nullptr otherwise. The entry holds
/// still while the caller holds a lock that quiesce() passes through.
const MrEntry* find_region(const Segment& segment, std::uint32_t key, std::uint32_t pd,
                           std::uint64_t address, std::uint64_t bytes, unsigned access) noexcept;

inline std::uint32_t region_index(std::uint32_t key) noexcept {
  return key >> 8;
}

ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd) noexcept;
ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access);
/// As ibv_rereg_mr: 0 or an ibv_rereg_mr_err_code.
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length,
             int access) noexcept;
int dereg_mr(ibv_mr* mr) noexcept;
/// Invalidates the regions that a program leaves behind when it closes their device.
void abandon_regions(Context& context) noexcept;

}  // namespace weft::soft
