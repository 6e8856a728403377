#include "mpi/host/errors.hpp"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "mpi/report/job_report.hpp"

namespace weft::mpi {

namespace {

// All of weft's errors share one class and one code; the text is that of the last error. MPI cannot
// free codes before the end of the job, so a code for each error would run out.
int error_code_for(const std::string& line) {
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

}  // namespace

void end_job(std::string_view line) {
  constexpr auto kPatience = std::chrono::seconds(3);
  print_line(line);
  // An abort kills the other ranks, perhaps before they have printed their lines. All ranks that
  // fail get here soon, so the wait is bounded.
  MPI_Request arrived = MPI_REQUEST_NULL;
  int done = PMPI_Ibarrier(MPI_COMM_WORLD, &arrived) == MPI_SUCCESS ? 0 : 1;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (done == 0 && std::chrono::steady_clock::now() < deadline) {
    if (PMPI_Test(&arrived, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PMPI_Abort(MPI_COMM_WORLD, kUsageExitCode);
  std::abort();
}

int raise_error(MPI_Comm comm, const std::string& line) {
  const int code = error_code_for(line);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace weft::mpi
