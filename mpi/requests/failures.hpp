// Failures: pending calls that have ended in an error, whose requests the host has just completed.
//
// To the host a generalized request belongs to no communicator, so it would call the error handler
// of MPI_COMM_WORLD. It is told that all went well instead, and the add-on's functions that
// complete requests call the handler of the call's communicator, and give the error to the program.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "mpi/world/busy.hpp"

namespace weft::mpi {

class PendingCall;

/// Of one request, which is gone.
struct Failure {
  std::shared_ptr<const PendingCall> call;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// Those of this thread that the program has not been told yet.
class Failures {
 public:
  static void add(Failure failure);
  /// False inside of weft, where nobody is to be told.
  static bool any() noexcept { return is_any && !Inside::here(); }
  static std::vector<Failure> take();

  /// What a function that completes at most one request returns: `code`, the host's, or the error
  /// of the call, whose communicator's handler is called.
  static int end_one(int code) { return any() ? end_failed(code) : code; }

  /// Calls the handler of the call's communicator, which may leave this by longjmp. The error code.
  static int tell(std::shared_ptr<const PendingCall> call);
  /// Lets go of communicators whose handlers did: before the program frees one.
  static void forget_told() {
    if (has_told) forget();
  }

 private:
  static int end_failed(int code);
  static void forget();

  [[gnu::tls_model("initial-exec")]] static constinit thread_local bool has_told;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local bool is_any;
};

/// Scope of a function that completes several requests, which knows which they were. Does nothing
/// where no call is pending and none has failed.
class SeveralEnds {
 public:
  SeveralEnds(int count, const MPI_Request requests[]);

  /// What the function returns. `ended`: how many requests it has completed, by `indices`; null:
  /// all of them, in order. Gives the statuses their errors.
  int end(int code, const int* ended, const int indices[], MPI_Status statuses[]) const {
    return Failures::any() ? end_failed(code, ended, indices, statuses) : code;
  }

 private:
  int end_failed(int code, const int* ended, const int indices[], MPI_Status statuses[]) const;

  std::vector<MPI_Request> requests_;  // before the host has made them null
};

}  // namespace weft::mpi
