/* own_failure [fails]: rank 1 has no memory to pack in. All ranks that wait for it get the same
 * error, or all have the call done, and none waits for ever; `fails`: an alltoallv must fail. Each
 * call is on a communicator of its own, which is of no use after an error. */
#include <sys/resource.h>
#include <sys/time.h>

#include "tests/mpi/program/check.h"

enum { kElements = 8 << 20, kMostRanks = 8 }; /* of three bytes in four */

static int rank, size;
static unsigned char* data;
static MPI_Datatype element;

/* So many bytes of addresses more than there are now; 0: as many as at first. */
static void limit_memory(size_t more) {
  static struct rlimit first;
  if (first.rlim_max == 0) getrlimit(RLIMIT_AS, &first);
  struct rlimit limit = first;
  if (more != 0) {
    unsigned long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) MPI_Abort(MPI_COMM_WORLD, 2);
    fclose(file);
    limit.rlim_cur = pages * 4096 + more;
  }
  setrlimit(RLIMIT_AS, &limit);
}

typedef int Call(int elements, MPI_Comm comm);

static int alltoallv(int elements, MPI_Comm comm) {
  int counts[kMostRanks], places[kMostRanks];
  for (int i = 0; i < size; ++i) {
    counts[i] = elements / size;
    places[i] = i * counts[i];
  }
  return MPI_Alltoallv(data, counts, places, element, data + 4L * kElements, counts, places,
                       element, comm);
}
static int allgatherv(int elements, MPI_Comm comm) {
  int counts[kMostRanks], places[kMostRanks];
  for (int i = 0; i < size; ++i) {
    counts[i] = elements / size;
    places[i] = i * counts[i];
  }
  return MPI_Allgatherv(data, counts[0], element, data + 4L * kElements, counts, places, element,
                        comm);
}
static int gatherv_to_other(int elements, MPI_Comm comm) {
  int counts[kMostRanks], places[kMostRanks];
  for (int i = 0; i < size; ++i) {
    counts[i] = elements / size;
    places[i] = i * counts[i];
  }
  return MPI_Gatherv(data, counts[0], element, data + 4L * kElements, counts, places, element, 0,
                     comm);
}

/* `all_wait`: for rank 1; else rank 0 does. */
static void check(const char* name, Call* call, int all_wait, int must_fail) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int code = call(size, comm);
  expect(code == MPI_SUCCESS, "%s: a small call returns %d", name, code);
  if (rank == 1) limit_memory(2 << 20);
  code = call(kElements, comm);
  if (rank == 1) limit_memory(0);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  char first[MPI_MAX_ERROR_STRING];
  memcpy(first, text, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int may_be_done = rank > 1 && !all_wait && code == MPI_SUCCESS;
  expect(strcmp(first, text) == 0 || may_be_done, "%s: '%s' on rank 0, '%s' on rank %d", name,
         first, text, rank);
  expect(!must_fail || strstr(text, "rank 1: std::bad_alloc") != NULL, "%s: %d '%s'", name, code,
         text);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2 || size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  data = malloc(8L * kElements);
  memset(data, 0, 8L * kElements);
  MPI_Datatype three;
  MPI_Type_contiguous(3, MPI_UNSIGNED_CHAR, &three);
  MPI_Type_create_resized(three, 0, 4, &element);
  MPI_Type_commit(&element);
  check("alltoallv", alltoallv, 1, argc > 1);
  check("allgatherv", allgatherv, 1, 0);
  check("gatherv", gatherv_to_other, 0, 0);
  MPI_Type_free(&element);
  MPI_Type_free(&three);
  free(data);
  return finish();
}
