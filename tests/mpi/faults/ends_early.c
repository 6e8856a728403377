/* The last rank ends while the others set up communicators or wait in calls for it: killed some
 * time after MPI_Init, or by MPI_Abort, or it never comes. The launcher then ends the others; none
 * may keep it from that.
 *
 *   ends_early kill MICROSECONDS | abort | away
 */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

static void kill_here(int number) {
  (void)number;
  kill(getpid(), SIGKILL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) {
    if (strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(argv[1], "away") == 0) kill(getpid(), SIGKILL);
    signal(SIGALRM, kill_here);
    const struct itimerval once = {{0, 0}, {0, atoi(argv[2])}};
    setitimer(ITIMER_REAL, &once, NULL);
  }
  for (;;) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    expect_ints_arrive(comm, 100, "before the end");
    expect_ints_arrive(comm, 20000, "before the end");
    MPI_Comm_free(&comm);
  }
}
