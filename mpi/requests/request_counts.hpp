// Request counts: how many requests of the program may be weft's. Where there is none, functions
// that start and complete requests are the host's alone, and ask no more than this.
#pragma once

#include <atomic>

namespace weft::mpi {

/// In one line of the cache: a program that polls reads it before each of its tests, mostly after
/// another process has had the core.
struct alignas(64) RequestCounts {
  std::atomic<int> pending = 0;          // calls that are pending
  std::atomic<int> persistent = 0;       // persistent requests of collectives
  std::atomic<bool> has_failed = false;  // whether any call has ended in an error
};
inline constinit RequestCounts request_counts;

/// Whether any call is pending.
inline bool is_any_pending() noexcept {
  return request_counts.pending.load(std::memory_order_relaxed) != 0;
}
/// Whether there are persistent requests of weft.
inline bool has_persistent() noexcept {
  return request_counts.persistent.load(std::memory_order_relaxed) != 0;
}
/// Whether any request that a function of this thread may complete is weft's, or was when it ended
/// in an error that the program has perhaps not been told yet.
inline bool is_any_of_weft() noexcept {
  return is_any_pending() || has_persistent() ||
         request_counts.has_failed.load(std::memory_order_relaxed);
}

}  // namespace weft::mpi
