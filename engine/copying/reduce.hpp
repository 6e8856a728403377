// Reductions between strided pieces of memory.
#pragma once

#include "kernels/operation.hpp"
#include "plan/plan.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::engine {

/// A function that copies bytes of another process to where this one can read them, at most `piece`
/// at once. Takes their address and number, returns the copy, or null when they cannot be read.
struct Fetch {
  const std::byte* (*call)(void* context, const std::byte* theirs, std::uint64_t bytes) = nullptr;
  void* context = nullptr;
  std::uint64_t piece = 0;
};

/// dst = dst op src, or src op dst where the destination is the right operand; element by element
/// in the order of the layouts. Equal sizes, no overlap; blocks are whole elements. False when the
/// source could not be fetched. With an empty Fetch the source is read where it lies.
bool reduce(const Operation& operation, plan::Operand dst_operand, const verbs::Layout& dst,
            const verbs::Layout& src, const Fetch& fetch = {}) noexcept;

}  // namespace weft::engine
