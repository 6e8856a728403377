/* A user's program in C: ranks joined by TCP exchange their numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, weft_error());
  return 1;
}

int main(void) {
  weft_comm* world = NULL;
  if (weft_comm_create_tcp(&world) != WEFT_SUCCESS) return fail("weft_comm_create_tcp");
  const int rank = weft_comm_rank(world);
  const int size = weft_comm_size(world);
  int* in = malloc(sizeof *in * (size_t)size);
  int* out = malloc(sizeof *out * (size_t)size);
  for (int to = 0; to < size; ++to) in[to] = 100 * rank + to;
  if (weft_alltoall(in, out, sizeof *in, world) != WEFT_SUCCESS) return fail("weft_alltoall");
  int wrong = 0;
  for (int from = 0; from < size; ++from) wrong += out[from] != 100 * from + rank;
  if (weft_alltoall(NULL, out, sizeof *in, world) != WEFT_ERR_USAGE) ++wrong;
  weft_comm_free(world);
  free(in);
  free(out);
  if (wrong == 0) printf("rank %d of %d: right\n", rank, size);
  return wrong != 0;
}
