#include "mpi/requests/requests.hpp"

#include <dlfcn.h>

#include "mpi/calls/passed.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/host/host.hpp"
#include "mpi/requests/failures.hpp"
#include "mpi/requests/refusals.hpp"

namespace weft::mpi {

namespace {

#if WEFT_HOST_CALLS_IN_WAITS
/// By Open MPI, in all of its waits, and in fibers' own calls of it.
int on_progress() {
  return is_any_pending() && !Inside::here() && progress() ? 1 : 0;
}

/// Once: Open MPI moves weft on from then on. False where it is not known how to tell it so.
bool host_moves_weft() {
  static const bool registered = [] {
    if (const HostFacts* facts = World::get()->host_facts()) {
      return facts->call_in_waits(&on_progress);
    }
    using Register = int(int (*)());
    auto* const add = reinterpret_cast<Register*>(dlsym(RTLD_DEFAULT, "opal_progress_register"));
    return add != nullptr && add(&on_progress) == 0;
  }();
  return registered;
}
#else
bool host_moves_weft() {
  return true;
}
#endif

/// The state of a generalized request.
struct Given {
  std::shared_ptr<PendingCall> call;
  MPI_Request request = MPI_REQUEST_NULL;

  static int query(void* self, MPI_Status* status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    const auto* given = static_cast<const Given*>(self);
    if (given->call->is_done() && given->call->code() != MPI_SUCCESS) {
      Failures::add({given->call, given->request});
    }
    return MPI_SUCCESS;
  }
  static int free(void* self) {
    auto* const given = static_cast<Given*>(self);
    std::destroy_at(given);
    Recycled<Given>().deallocate(given, 1);
    return MPI_SUCCESS;
  }
  /// MPI does not allow it for collectives.
  static int cancel(void* /*self*/, int /*is_complete*/) { return MPI_SUCCESS; }
};

}  // namespace

Attached* served_in_background(MPI_Comm comm) {
  World* world = World::get();
  if (world == nullptr || Inside::here() || comm == MPI_COMM_NULL) return nullptr;
  const Inside guard;
  Attached* attached = world->communicators().of(comm);
  if (attached == nullptr || !host_moves_weft()) return nullptr;
  // Arrays of arguments are as long as the other group is large, which nobody here looks at.
  const bool is_inter = attached->state == Attached::State::passed_through &&
                        attached->why == Passed::intercommunicator;
  return is_inter ? nullptr : attached;
}

Attached* background_of_repeat(const Repeated& call) {
  Attached* const attached = Repeats::attached_of(call.arguments, call.buffers);
  if (attached == nullptr || !host_moves_weft()) return nullptr;
  const bool may_be_left = attached->in_flight != nullptr && attached->in_flight->is_left();
  return may_be_left ? nullptr : attached;
}

Attached* background_of(Call&& call) {
  World* world = World::get();
  if (world == nullptr || Inside::here() || call.comm() == MPI_COMM_NULL) return nullptr;
  Passed why = Passed::arguments;
  if (Attached* attached = served_in_background(call.comm())) {
    const Inside guard;
    auto passed = passes_at_once(call, *world, *attached);
    if (may_wait_behind(*attached)) {
      // All calls wait for their turn there, but for those that the host refuses now.
      return is_refused(std::move(call), *attached, true) ? nullptr : attached;
    }
    if (!passed) passed = passes_unwaited(call, *world, *attached);
    if (!passed) return attached;
    why = *passed;
    count_in_flight(*attached, why);
  } else {
    const Inside guard;
    const Attached* known = world->communicators().of(call.comm());
    if (known != nullptr) why = host_moves_weft() ? known->why : Passed::no_progress;
    if (Freeing::contains(call.comm())) why = Passed::being_freed;
  }
  count_passed(call, *world, why);
  record_start_in_host(call, true);
  return nullptr;
}

void complete_with(const std::shared_ptr<PendingCall>& call, MPI_Request request) {
  call->then([facts = World::get()->host_facts(), ended = std::weak_ptr(call), request] {
    facts->complete(request, ended.lock()->code());
  });
}

int give_request(std::shared_ptr<PendingCall> call, MPI_Request* request) {
  if (const HostFacts* facts = World::get()->host_facts()) {
    *request = facts->new_request(call->comm());
    if (*request == MPI_REQUEST_NULL) return MPI_ERR_NO_MEM;
    complete_with(call, *request);
    return MPI_SUCCESS;
  }
  auto* given = new (Recycled<Given>().allocate(1)) Given{std::move(call)};
  const int code =
      PMPI_Grequest_start(&Given::query, &Given::free, &Given::cancel, given, &given->request);
  if (code != MPI_SUCCESS) return code;
  *request = given->request;
  // The program has not got the request yet, so nobody frees it meanwhile.
  given->call->then([done = given->request] { PMPI_Grequest_complete(done); });
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
