// Slices of a call: what a run and a request have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/calls/heap_copies.hpp"
#include "comm/calls/usage.hpp"
#include "comm/setup/call.hpp"
#include "comm/setup/resources.hpp"

namespace weft::comm {

/// True if the task moves nothing, as all ranks know alike. Of a scatter or gather of blocks that
/// differ only the root knows.
bool moves_nothing(const Task& task);

/// The problem with blocks of `bytes`.
plan::Problem slice_of(const plan::Problem& problem, std::uint64_t bytes);

/// The input of a call in place, copied to `aside`, out of the way of its output.
const std::byte* set_aside(const std::byte* input, std::uint64_t bytes,
                           std::vector<std::byte>& aside);

/// `task` with buffers that peers see: those elsewhere are copied to the shared heap.
const Task& publish(Resources& resources, const Call& call, const Task& task, HeapCopies& copies);

/// each(prepared, buffers) for every slice of the task's blocks; `counts` gets what they send.
template <class Each>
void for_each_slice(const Call& call, const Task& task, const std::byte* input, Counts& counts,
                    Each each) {
  std::uint64_t at = 0;
  do {
    const bool last = call.problem.block_bytes - at < call.slice_bytes && call.rest.has_value();
    const engine::Prepared& prepared = last ? *call.rest : *call.slice;
    // Offsets from null pointers, of ranks that have no such buffer, stay null.
    each(prepared,
         engine::Buffers{input == nullptr ? nullptr : input + at,
                         task.output == nullptr ? nullptr : task.output + at, &task.operation});
    counts.messages += prepared.messages;
    counts.wire_bytes += prepared.wire_bytes;
    at += call.slice_bytes;
  } while (at < call.problem.block_bytes && call.slice_bytes != 0);
}

}  // namespace weft::comm
