/* Signals that interrupt system calls arrive all the time, in set-ups and in calls, and children
 * are forked in between, some of which start a program: with buffers that a device has registered.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

enum { EVERY_US = 300, LARGE = 200000 };

static volatile sig_atomic_t signals;

static void on_signal(int number) {
  (void)number;
  ++signals;
}

static void interrupt_often(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action); /* without SA_RESTART */
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval interval = {{0, EVERY_US}, {0, EVERY_US}};
  setitimer(ITIMER_REAL, &interval, NULL);
}

static int numbers[LARGE], sums[LARGE];

static void reduce(MPI_Comm comm, int count, int add) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < count; ++i) numbers[i] = i + rank + add;
  MPI_Allreduce(numbers, sums, count, MPI_INT, MPI_SUM, comm);
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    wrong += sums[i] != size * (i + add) + size * (size - 1) / 2;
  }
  expect(wrong == 0, "allreduce of %d: %d wrong", count, wrong);
}

static void exchange(MPI_Comm comm, int count) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < size * count; ++i) numbers[i] = rank * LARGE + i;
  MPI_Alltoall(numbers, count, MPI_INT, sums, count, MPI_INT, comm);
  int wrong = 0;
  for (int i = 0; i < size * count; ++i) {
    wrong += sums[i] != i / count * LARGE + rank * count + i % count;
  }
  expect(wrong == 0, "alltoall of %d: %d wrong", count, wrong);
}

/* The child writes to the buffers of its copy, and the parent to its own while the child lives. */
static void have_child(int starts_program) {
  const pid_t child = fork();
  expect(child >= 0, "fork");
  if (child == 0) {
    memset(numbers, 0x55, sizeof numbers);
    memset(sums, 0x55, sizeof sums);
    if (starts_program) execl("/bin/true", "true", (char*)NULL);
    _exit(0);
  }
  memset(numbers, 0x66, sizeof numbers);
  reduce(MPI_COMM_WORLD, LARGE, 7);
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: %x", (unsigned)status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  interrupt_often();
  for (int round = 0; round < 5; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    reduce(comm, 10, round);
    exchange(comm, 5);
    reduce(comm, LARGE, round);
    exchange(comm, 30000);
    have_child(round % 2);
    reduce(comm, 3, round);
    exchange(comm, 30000);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  }
  expect(signals > 20, "%d signals", (int)signals);
  const struct itimerval off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &off, NULL);
  return finish();
}
