#include "mpi/requests/refusals.hpp"

#include <mutex>
#include <utility>

#include "mpi/calls/passed.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/datatypes/device_memory.hpp"
#include "mpi/requests/pending_queue.hpp"
#include "mpi/requests/requests.hpp"

namespace weft::mpi {

namespace {

/// Scope in which a communicator has other lists for its calls: those that it has may be in use by
/// the call that is under way, which finds them again where they were.
class OwnLists {
 public:
  explicit OwnLists(Attached& attached) : attached_(attached) {
    std::swap(attached_.lists, lists_);
  }
  OwnLists(const OwnLists&) = delete;
  OwnLists& operator=(const OwnLists&) = delete;
  ~OwnLists() { std::swap(attached_.lists, lists_); }

 private:
  Attached& attached_;
  CallLists lists_;
};

}  // namespace

bool is_refused(Call&& call, Attached& attached, bool request) {
  World& world = *World::get();
  if (world.host_facts() != nullptr) return false;
  const Inside guard;
  // Other threads do not go on with the call that is under way meanwhile.
  const auto lock =
      attached.pending == nullptr ? std::unique_lock<CallMutex>() : attached.pending->hold();
  const OwnLists lists(attached);
  device_memory::look_for_drivers();
  if (!call.is_refused({world, attached})) return false;
  count_passed(call, world, Passed::arguments);
  record_start_in_host(call, request);
  return true;
}

bool is_refused_before_others(Call&& call) {
  Attached* const attached = served_in_background(call.comm());
  if (attached == nullptr || !may_wait_behind(*attached)) return false;
  return is_refused(std::move(call), *attached, false);
}

}  // namespace weft::mpi
