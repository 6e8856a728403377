// Refusals: calls with arguments that the host finds wrong before it looks at other ranks.
//
// MPI tells the program of them in the call, by the communicator's error handler. Behind a pending
// call, or at a persistent start, the host would find them too late, and in a place that a handler
// must not leave. So they are found out first, and the host is called at once, with no lock of
// weft's. On this rank alone, perhaps: such a call is none of the communicator's, to the host and
// to weft. What is not certain to be refused waits for its turn.
#pragma once

#include "mpi/calls/call.hpp"
#include "mpi/requests/pending_call.hpp"

namespace weft::mpi {

/// Whether the host refuses the call; counted and recorded as passed through then. Never in a
/// component of the host, which has asked already. `request`: it is not a blocking one.
bool is_refused(Call&& call, Attached& attached, bool request);

/// The same for blocking calls, before they wait for what is pending on their communicator.
bool is_refused_before_others(Call&& call);

/// Whether calls are pending on the communicator, or were.
inline bool may_wait_behind(const Attached& attached) noexcept {
  return is_any_pending() && attached.pending != nullptr;
}

}  // namespace weft::mpi
