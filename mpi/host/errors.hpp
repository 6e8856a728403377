// Errors of the add-on and of the host: each ends as one line on every rank, never as a hang.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

namespace weft::mpi {

inline constexpr int kUsageExitCode = 2;

/// The host MPI refused a call of ours: its error code, for the program.
struct HostError {
  int code = MPI_SUCCESS;
};

inline void require_success(int code) {
  if (code != MPI_SUCCESS) throw HostError{code};
}

/// For settings that cannot be followed, which all ranks find at the same point: prints the line,
/// waits a little so that all ranks of the world can print theirs, and aborts the job with exit
/// code 2.
[[noreturn]] void end_job(std::string_view line);

/// Calls the error handler of `comm` with an error code whose text is `line`, and returns the code.
int raise_error(MPI_Comm comm, const std::string& line);

}  // namespace weft::mpi
