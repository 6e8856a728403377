#define _GNU_SOURCE
/* In MPI_Init nobody makes communicators by collectives over MPI_COMM_WORLD. Open MPI has its
 * nonblocking ones in them, whose tags follow one another, and those of the 24th and 25th are also
 * tags of MPI_Dist_graph_create: which programs hang by that must not depend on weft. The program
 * is in front of all libraries, so it sees such calls. */
#include "tests/mpi/program/check.h"

#include <dlfcn.h>

static int made_over_world = 0;

#define SEE(name, parameters, arguments)                                        \
  __attribute__((visibility("default"))) int PMPI_##name parameters {           \
    int(*next) parameters = (int(*) parameters)dlsym(RTLD_NEXT, "PMPI_" #name); \
    made_over_world += comm == MPI_COMM_WORLD;                                  \
    return next arguments;                                                      \
  }
SEE(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
SEE(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
SEE(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  expect(made_over_world == 0, "%d communicators were made over all ranks", made_over_world);
  return finish();
}
