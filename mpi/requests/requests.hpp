// Requests: how programs hold pending calls, and complete them by MPI's own functions.
//
// A pending call is a generalized request of the host, or in a component of the host a request of
// the host's own, which programs wait for together with the host's others. The host must move weft
// on while it waits, or they would wait for ever: Open MPI calls a function that is registered with
// its progress engine, in all of its waits; in MPICH, which has no such thing, the add-on's entry
// points wait by tests while a call is pending (mpi/pmpi/waits.cpp).
#pragma once

#include <mpi.h>

#include <memory>

#include "mpi/requests/pending_call.hpp"
#include "mpi/requests/recycled.hpp"

namespace weft::mpi {

/// What belongs to the communicator if its calls may be pending. Null: the host must run all of
/// them.
Attached* served_in_background(MPI_Comm comm);
/// What belongs to the call's communicator if weft may serve the call in the background. Null: the
/// host must run it. Counts and records what is passed through.
Attached* background_of(Call&& call);

/// Gives the program a request for the call. MPI's error code.
int give_request(std::shared_ptr<PendingCall> call, MPI_Request* request);
/// In a component of the host: the end of the call completes its request.
void complete_with(const std::shared_ptr<PendingCall>& call, MPI_Request request);

/// The same of a call like one that weft has served. Null: it is to be looked at.
Attached* background_of_repeat(const Repeated& call);

/// Begins a collective by the program's nonblocking function. `name`: that of MPI's blocking one;
/// `host`: the host's own; `make`: gives the Call of `arguments`.
template <Text name, class Host, class Make, class... Given>
int start_collective(MPI_Request* request, Host host, Make make, Given... arguments) {
  Repeated repeated;
  Attached* attached = nullptr;
  if constexpr (may_repeat<name>()) {
    describe_call<name>(repeated.arguments, repeated.buffers, arguments...);
    attached = background_of_repeat(repeated);
  }
  if (attached == nullptr) attached = background_of(make(arguments...));
  if (attached != nullptr) {
    using MadeWork = CollectiveWork<name, Host, Make, Given...>;
    auto work = std::allocate_shared<MadeWork>(Recycled<MadeWork>(), *attached, repeated, host,
                                               make, arguments...);
    if (auto call = start(std::move(work))) return give_request(std::move(call), request);
  }
  return host(arguments..., request);
}

/// Begins what only the host runs: behind what is pending on the communicator, as that may become
/// the host's, too.
template <class Start>
int start_behind(MPI_Comm comm, MPI_Request* request, Start start_at_host) {
  if (is_any_pending() && comm != MPI_COMM_NULL) {
    const auto work = std::make_shared<HostWork<Start>>(comm, start_at_host);
    if (auto call = start(work)) return give_request(std::move(call), request);
  }
  return start_at_host(request);
}

}  // namespace weft::mpi
