// Errors of the add-on and of the host MPI. Each becomes one line on every rank, never a hang.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

namespace weft::mpi {

inline constexpr int kUsageExitCode = 2;

/// Exception: the host MPI refused a call of weft's. Carries its error code, for the program.
struct HostError {
  int code = MPI_SUCCESS;
};

inline void require_success(int code) {
  if (code != MPI_SUCCESS) throw HostError{code};
}

/// Ends the job because of invalid settings, which all ranks find at the same point: prints the
/// line, waits up to 3 s until it is read and as long until all ranks have printed theirs, and
/// aborts with exit code 2.
[[noreturn]] void end_job(std::string_view line);

/// An error code whose text is `line`.
int error_code_of(const std::string& line);
/// Calls the error handler of `comm` with an error code whose text is `line`, and returns the code.
int raise_error(MPI_Comm comm, const std::string& line);

}  // namespace weft::mpi
