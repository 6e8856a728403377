#include "mpi/host/errors.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/file.hpp"
#include "mpi/report/job_report.hpp"

namespace weft::mpi {

// All of weft's errors share one class and one code; the text is that of the last error. MPI cannot
// free codes before the end of the job, so a code for each error would run out.
int error_code_of(const std::string& line) {
  static std::mutex mutex;
  static int code = MPI_SUCCESS;
  const std::lock_guard lock(mutex);
  if (code == MPI_SUCCESS) {
    int error_class = MPI_ERR_OTHER;
    if (PMPI_Add_error_class(&error_class) != MPI_SUCCESS) return MPI_ERR_OTHER;
    PMPI_Add_error_string(error_class, "an error in weft");
    if (PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
  }
  const std::string text = ("weft: " + line).substr(0, MPI_MAX_ERROR_STRING - 1);
  PMPI_Add_error_string(code, text.c_str());
  return code;
}

void end_job(std::string_view line) {
  static constexpr auto kPatience = std::chrono::seconds(3);
  const auto wait_while = [](auto goes_on) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (goes_on() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  print_line(line);
  // An abort kills the other ranks, perhaps before they have printed their lines, and MPICH's
  // launcher drops what it has not read by then. All ranks that fail get here soon, so the wait is
  // bounded.
  wait_while([] { return holds_unread(STDERR_FILENO); });
  MPI_Request arrived = MPI_REQUEST_NULL;
  int done = PMPI_Ibarrier(MPI_COMM_WORLD, &arrived) == MPI_SUCCESS ? 0 : 1;
  wait_while([&] {
    if (done == 0 && PMPI_Test(&arrived, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = 1;
    return done == 0;
  });
  PMPI_Abort(MPI_COMM_WORLD, kUsageExitCode);
  std::abort();
}

int raise_error(MPI_Comm comm, const std::string& line) {
  const int code = error_code_of(line);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace weft::mpi
