/* MPI_Comm_spawn: collectives in the spawned processes' own world, and across both worlds. */
#include "tests/mpi/program/check.h"

static void across(MPI_Comm inter, int is_parent) {
  MPI_Comm merged;
  int mine = 0, remote = 0, sum = 0, own = 0, number = -1;
  MPI_Comm_rank(inter, &mine);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Barrier(inter);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  expect(sum == remote * (remote - 1) / 2, "the other world's ranks sum up to %d", sum);
  const int root = !is_parent ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL;
  if (is_parent && mine == 0) number = 77;
  MPI_Bcast(&number, 1, MPI_INT, root, inter);
  expect((is_parent && mine != 0) || number == 77, "a parent said %d", number);
  MPI_Intercomm_merge(inter, !is_parent, &merged);
  MPI_Comm_rank(merged, &own);
  for (int turn = 0; turn < 3; ++turn) expect_ints_arrive(merged, 5, "two worlds in one");
  MPI_Comm_split(merged, own % 2, own, &inter);
  expect_ints_arrive(inter, 5, "half of two worlds");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&merged);
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  int errors[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  expect_ints_arrive(MPI_COMM_WORLD, 7, "one's own world");
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors);
    across(children, 1);
  } else {
    children = parent;
    across(children, 0);
  }
  expect_ints_arrive(MPI_COMM_WORLD, 7, "one's own world again");
  MPI_Comm_disconnect(&children);
  return finish();
}
