#include "mpi/calls/passed.hpp"

namespace weft::mpi {

PassedCount& passed_count_of(const Call& call, World& world, Attached& attached, Passed why) {
  PassedCounts& counts = world.communicators().passed_of(attached);
  if (why == Passed::few_calls || why == Passed::raced || why == Passed::new_size ||
      why == Passed::several_pending) {
    if (const auto bytes = call.block_bytes({world, attached})) {
      return counts.of(call.collective(), why, *bytes);
    }
  }
  return counts.of(call.collective(), why);
}

PassedCount& count_passed(const Call& call, World& world, Attached& attached, Passed why) {
  PassedCount& count = passed_count_of(call, world, attached, why);
  count.calls.fetch_add(1, std::memory_order_relaxed);
  return count;
}

PassedCount& count_passed(const Call& call, World& world, Passed why) {
  // Decided before a look at the communicator, which may not be one, or may end.
  const bool is_unseen = why == Passed::disabled || why == Passed::being_freed ||
                         why == Passed::arguments || world.unusable();
  Attached* attached = is_unseen ? nullptr : world.communicators().of(call.comm());
  if (attached != nullptr) return count_passed(call, world, *attached, why);
  PassedCount& count = world.tally().passed_unseen().of(call.collective(), why);
  count.calls.fetch_add(1, std::memory_order_relaxed);
  return count;
}

}  // namespace weft::mpi
