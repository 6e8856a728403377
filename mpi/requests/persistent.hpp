// Persistent requests of collectives (MPI_Alltoall_init): what programs hold, start and complete.
//
// In a component of the host the request is the host's, whose functions start it. Elsewhere the
// program holds a persistent request of the host that does nothing, a receive from
// MPI_PROC_NULL, so that its handle means something in C and in Fortran. Each start begins the
// collective anew, as a nonblocking one, which has a request of its own. Functions that complete
// requests put that in the place of the program's: see Unfolded.
//
// Ranks make the persistent collectives of a communicator in one order and start them in any,
// before and after its other collectives, too. So each has a queue and a communicator of weft of
// its own.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "mpi/requests/refusals.hpp"
#include "mpi/requests/request_counts.hpp"
#include "mpi/requests/requests.hpp"

namespace weft::mpi {

/// What a persistent collective of the communicator has for itself.
std::shared_ptr<Attached> own_of_persistent(Attached& attached);
/// Gives the program an inactive request for `work`. MPI's error code.
int make_persistent(std::shared_ptr<Work> work, MPI_Request* request);

/// MPI_Start, MPI_Startall: `host` starts requests that are not weft's.
int start_persistent(int count, MPI_Request requests[], int (*host)(int, MPI_Request[]));
/// MPI_Request_free: whether the request is weft's, and `code`.
bool free_persistent(MPI_Request* request, int& code);

/// Makes a persistent request of a collective. `name`: of MPI's blocking function. `host_init`: the
/// host's function that makes one. `host`: the host's nonblocking one. `make`: gives the Call of
/// `arguments`.
template <Text name, class HostInit, class Host, class Make, class... Given>
int init_collective(MPI_Comm comm, MPI_Info info, MPI_Request* request, HostInit host_init,
                    Host host, Make make, Given... arguments) {
  Attached* attached = served_in_background(comm);
  if (attached == nullptr) {
    background_of(make(arguments...));  // counted once, not at each start
    return host_init(arguments..., info, request);
  }
  if (is_refused(make(arguments...), *attached, true)) {
    return host_init(arguments..., info, request);
  }
  // The host numbers it now, among its nonblocking ones: those that are pending come before it on
  // all ranks. MPI lets this call wait for others.
  if (kHasPersistentCalls) drain(comm);
  const auto work = std::make_shared<PersistentWork<name, HostInit, Host, Make, Given...>>(
      own_of_persistent(*attached), host, make, arguments...);
  const int code = work->make_in_host(host_init, info);
  return code == MPI_SUCCESS ? make_persistent(work, request) : code;
}

/// An array of requests of the program, in which those of the collectives that were started stand
/// for persistent ones, or null for inactive ones. Written back when this goes, or before: what
/// the host has completed is inactive.
class Unfolded {
 public:
  Unfolded(int count, MPI_Request requests[]);
  Unfolded(const Unfolded&) = delete;
  Unfolded& operator=(const Unfolded&) = delete;
  ~Unfolded() { fold(); }

  /// Writes back, once: before an error handler of the program is called, which may leave by
  /// longjmp.
  void fold();
  MPI_Request* get() noexcept { return copy_ != nullptr ? copy_ : given_; }

 private:
  void copy();

  MPI_Request* given_;
  int count_;
  MPI_Request* copy_ = nullptr;  // of all of them, where any is persistent
  MPI_Request only_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> copies_;  // of more than one
};

}  // namespace weft::mpi
