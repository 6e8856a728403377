// Guarded call: one that weft serves, whose errors become its outcome.
#pragma once

#include <exception>

#include "mpi/calls/call.hpp"
#include "mpi/host/errors.hpp"

namespace weft::mpi {

/// Runs `body`, whose errors become the outcome's. An error of this rank alone is told to the ranks
/// that wait for it. SetupError is the caller's: the host can serve the call.
template <class Body>
void run_guarded(Communicator& weft, Outcome& outcome, Body body) {
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
      weft.fail(error.what());
    } catch (const std::exception& told) {
      outcome.line = told.what();
    }
  }
}

}  // namespace weft::mpi
