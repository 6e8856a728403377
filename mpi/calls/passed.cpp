#include "mpi/calls/passed.hpp"

namespace weft::mpi {

namespace {

PassedCount& count_of(const Call& call, World& world, Attached* attached, Passed why) {
  if (attached == nullptr) return world.tally().passed_unseen().of(call.collective(), why);
  PassedCounts& counts = world.communicators().passed_of(*attached);
  if (why == Passed::few_calls || why == Passed::raced) {
    if (const auto bytes = call.block_bytes({world, *attached})) {
      return counts.of(call.collective(), why, *bytes);
    }
  }
  return counts.of(call.collective(), why);
}

}  // namespace

PassedCount& count_passed(const Call& call, World& world, Attached& attached, Passed why) {
  PassedCount& count = count_of(call, world, &attached, why);
  count.calls.fetch_add(1, std::memory_order_relaxed);
  return count;
}

PassedCount& count_passed(const Call& call, World& world, Passed why) {
  // Decided before a look at the communicator, which may not be one, or may end.
  const bool is_unseen = why == Passed::disabled || why == Passed::being_freed ||
                         why == Passed::arguments || world.unusable();
  Attached* attached = is_unseen ? nullptr : world.communicators().of(call.comm());
  PassedCount& count = count_of(call, world, attached, why);
  count.calls.fetch_add(1, std::memory_order_relaxed);
  return count;
}

}  // namespace weft::mpi
