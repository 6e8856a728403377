/* A program whose rank 1 looks its functions up in the MPI library, as interpreters do: no add-on
   stands before these. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(name) (library == NULL ? &name : (typeof(&name))dlsym(library, #name))

int main(int argc, char** argv) {
  const char* rank_text = getenv("OMPI_COMM_WORLD_RANK");
  void* library = NULL;
  if (rank_text != NULL && strcmp(rank_text, "1") == 0) {
    library = dlopen("libmpi.so.40", RTLD_NOW);
    if (library == NULL) return 1;
  }
  CALL(MPI_Init)(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  CALL(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  CALL(MPI_Comm_size)(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 400; ++i) {
    int mine = rank + i, sum = 0;
    CALL(MPI_Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != ranks * (ranks - 1) / 2 + ranks * i;
  }
  CALL(MPI_Finalize)();
  if (wrong != 0) fprintf(stderr, "rank %d: %d wrong sums\n", rank, wrong);
  return wrong != 0;
}
