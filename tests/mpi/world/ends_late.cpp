// A program that ends MPI after main(): in the destructor of a global object, as those of libraries
// do. Collectives before it are by functions for the end and by destructors of the first thread.
#include <unistd.h>

#include "tests/mpi/program/check.h"

namespace {

void try_out(MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int turn = 0; turn < 20; ++turn) {
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == size * (size - 1) / 2, "the sum is %d", sum);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == size - 1, "the largest is %d", sum);
    expect_ints_arrive(comm, 5000, "late");
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
  }
}

/// Made before main(), so it is destroyed after all that main() made.
class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (comm_ == MPI_COMM_NULL) return;
    try_out(comm_);
    MPI_Comm_free(&comm_);
    const int code = finish();
    if (code != 0) _exit(code);
  }

  void begin(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  }
  MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};
Environment environment;

struct OfThread {
  MPI_Comm comm = MPI_COMM_NULL;
  ~OfThread() {
    if (comm != MPI_COMM_NULL) try_out(comm);
  }
};
thread_local OfThread of_thread;

void at_exit() {
  try_out(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  atexit(at_exit);
  environment.begin(&argc, &argv);
  of_thread.comm = environment.comm();
  if (argc > 1) try_out(MPI_COMM_WORLD);
  return 0;
}
