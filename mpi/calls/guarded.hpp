// What the errors of a call that weft serves become.
#pragma once

#include <exception>
#include <string>

#include "mpi/calls/call.hpp"
#include "mpi/host/errors.hpp"

namespace weft::mpi {

/// Ends a call that this rank cannot make: it and the ranks that wait for it, in the call or in an
/// agreement before it, get the same PeerError. The communicator serves no more calls.
[[noreturn]] void fail(const Context& context, const std::string& why);

/// Runs `body`, whose errors become the outcome's. An error of this rank alone is told to the ranks
/// that wait for it. SetupError is the caller's: the host can serve the call.
template <class Body>
void run_guarded(const Context& context, Outcome& outcome, Body body) {
  try {
    body();
  } catch (const SetupError&) {
    throw;
  } catch (const HostError& error) {
    outcome.code = error.code;
  } catch (const PeerError& error) {
    outcome.line = error.what();
  } catch (const CallError& error) {
    outcome.line = error.what();
  } catch (const UsageError& error) {
    end_job(error.what());
  } catch (const std::exception& error) {
    try {
      fail(context, error.what());
    } catch (const std::exception& told) {
      outcome.line = told.what();
    }
  }
}

}  // namespace weft::mpi
