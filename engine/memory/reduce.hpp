// Reductions between strided pieces of memory.
#pragma once

#include "kernels/operation.hpp"
#include "plan/plan.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::engine {

/// Brings bytes that lie elsewhere within reach, at most `piece` at once: called with their address
/// and how many. Null when they are not to be had.
struct Fetch {
  const std::byte* (*call)(void* context, const std::byte* theirs, std::uint64_t bytes) = nullptr;
  void* context = nullptr;
  std::uint64_t piece = 0;
};

/// dst = dst op src, or src op dst where the destination is the right operand; element by element
/// in the order of the layouts. Equal sizes, no overlap; blocks are whole elements. False when the
/// source could not be fetched. A Fetch that calls nothing: the source is within reach.
bool reduce(const Operation& operation, plan::Operand dst_operand, const verbs::Layout& dst,
            const verbs::Layout& src, const Fetch& fetch = {}) noexcept;

}  // namespace weft::engine
