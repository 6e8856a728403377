// Waits of programs, where the host does not move weft on: by tests, between which weft moves on.
#pragma once

#include <mpi.h>
#include <sched.h>

#include "mpi/calls/call.hpp"
#include "mpi/host/host.hpp"
#include "mpi/requests/pending_call.hpp"

namespace weft::mpi {

/// Whether a function that waits must do so by tests: in MPICH, while calls are pending. Open MPI
/// calls weft in all of its waits.
inline bool waits_by_tests() noexcept {
#if WEFT_HOST_CALLS_IN_WAITS
  return false;
#else
  return is_any_pending() && !Inside::here();
#endif
}

/// `test` sets its argument when it is done, and returns MPI's error code; `wait`: the host's
/// function, once nothing is pending any more.
template <class Test, class Wait>
int wait_by_tests(Test test, Wait wait) {
  constexpr int kTurnsPerYield = 16;
  for (int turn = 1; waits_by_tests(); ++turn) {
    progress();
    int done = 0;
    const int code = test(&done);
    if (code != MPI_SUCCESS || done != 0) return code;
    if (turn % kTurnsPerYield == 0) ::sched_yield();
  }
  return wait();
}

/// For one request, which becomes null. Of the host, not of the program.
inline int wait_by_tests(MPI_Request* request, MPI_Status* status = MPI_STATUS_IGNORE) {
  return wait_by_tests([&](int* done) { return PMPI_Test(request, done, status); },
                       [&] { return PMPI_Wait(request, status); });
}

}  // namespace weft::mpi
