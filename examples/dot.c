/* C: the scalar product of two vectors that are distributed over the ranks, by allreduce, and the
   parts of all ranks, by allgather.

     weft run -n 4 build/release/examples/dot

   Every call returns WEFT_SUCCESS or an error; weft_error() then has one line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "weft/weft.h"

enum { kNumbers = 1000 }; /* of each rank */

static int fail(const char* call) {
  fprintf(stderr, "dot: %s: %s\n", call, weft_error());
  return 1;
}

int main(void) {
  weft_comm* world = NULL;
  if (weft_comm_create_tcp(&world) != WEFT_SUCCESS) return fail("weft_comm_create_tcp");
  const int rank = weft_comm_rank(world), ranks = weft_comm_size(world);

  /* Number i of both vectors is i, so the product is a sum of squares. */
  double mine = 0, product = 0;
  for (int i = rank * kNumbers; i < (rank + 1) * kNumbers; ++i) mine += (double)i * i;
  const weft_operation* sum = weft_predefined(WEFT_SUM, WEFT_FLOAT64);
  if (weft_allreduce(&mine, &product, 1, sum, world) != WEFT_SUCCESS) return fail("weft_allreduce");

  double* parts = malloc(sizeof *parts * (size_t)ranks);
  if (weft_allgather(&mine, parts, sizeof mine, world) != WEFT_SUCCESS)
    return fail("weft_allgather");
  double again = 0;
  for (int i = 0; i < ranks; ++i) again += parts[i];

  const double n = (double)kNumbers * ranks;
  const double expected = (n - 1) * n * (2 * n - 1) / 6;
  const int right = fabs(product / expected - 1) < 1e-12 && fabs(again / expected - 1) < 1e-12;
  if (rank == 0) printf("%g, %s\n", product, right ? "right" : "WRONG");
  free(parts);
  weft_comm_free(world);
  return right ? 0 : 1;
}
