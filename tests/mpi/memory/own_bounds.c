/* A program that bounds ("limit") or locks ("lock") its address space after its start. The shared
 * heap's addresses, its own and its peers', are not the program's: what it bounds is as far away as
 * without weft, holds, and can be asked for; what it locks takes no memory that it does not use. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/mpi/program/check.h"

static const size_t kMiB = 1024 * 1024;

/* MiB of a line of /proc/self/status. */
static size_t status_mib(const char* name) {
  char line[256];
  size_t kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kib = strtoull(line + strlen(name), NULL, 10);
  }
  fclose(file);
  return kib / 1024;
}

/* MiB of addresses of shared heaps. */
static size_t heaps_mib(void) {
  char line[512];
  size_t bytes = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long long begin = 0, end = 0;
    if (strstr(line, "memfd:weft-heap") == NULL) continue;
    if (sscanf(line, "%llx-%llx", &begin, &end) == 2) bytes += (size_t)(end - begin);
  }
  fclose(maps);
  return bytes / kMiB;
}

static void exchange(const char* when, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const size_t block = kMiB / sizeof(int);
  int* sent = malloc((size_t)size * kMiB);
  int* received = malloc((size_t)size * kMiB);
  expect(sent != NULL && received != NULL, "%s: no memory for buffers", when);
  if (sent == NULL || received == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < block * (size_t)size; ++i) sent[i] = rank * 1000 + (int)(i / block);
    memset(received, 0, (size_t)size * kMiB);
    MPI_Alltoall(sent, (int)block, MPI_INT, received, (int)block, MPI_INT, comm);
    int right = 1;
    for (size_t i = 0; i < block * (size_t)size; ++i) {
      right &= received[i] == (int)(i / block) * 1000 + rank;
    }
    expect(right, "%s: wrong blocks", when);
  }
  free(sent);
  free(received);
}

/* 64 MiB in blocks too small for a heap that nobody has asked for. */
static void take_small_blocks(void) {
  enum { kBlocks = 4096, kBytes = 16384 };
  char** blocks = calloc(kBlocks, sizeof *blocks);
  for (int i = 0; blocks != NULL && i < kBlocks; ++i) {
    blocks[i] = malloc(kBytes);
    expect(blocks[i] != NULL, "no 16 KiB with 1 GiB free");
    if (blocks[i] != NULL) memset(blocks[i], 1, kBytes);
  }
  for (int i = 0; blocks != NULL && i < kBlocks; ++i) free(blocks[i]);
  free(blocks);
}

static void check_limit(void) {
  struct rlimit before, now, old;
  getrlimit(RLIMIT_AS, &before);
  const size_t own = status_mib("VmSize:") - heaps_mib();
  const struct rlimit asked = {(rlim_t)(own + 1024) * kMiB, before.rlim_max};
  expect(setrlimit(RLIMIT_AS, &asked) == 0, "setrlimit: %s", strerror(errno));
  expect(getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur == asked.rlim_cur &&
             now.rlim_max == asked.rlim_max,
         "another bound is told than was set");
  take_small_blocks();
  char* half = malloc(512 * kMiB);
  expect(half != NULL, "no 512 MiB with 1 GiB free");
  expect(malloc(2048 * kMiB) == NULL, "2 GiB beyond the bound");
  exchange("bounded", MPI_COMM_WORLD);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  exchange("bounded, a new communicator", copy);
  MPI_Comm_free(&copy);
  free(half);
  expect(prlimit(0, RLIMIT_AS, &before, &old) == 0 && old.rlim_cur == asked.rlim_cur,
         "prlimit does not tell what was set");
  half = malloc(2048 * kMiB);
  expect(half != NULL, "no 2 GiB without a bound");
  free(half);
  struct rlimit wrong = {2048 * kMiB, 1024 * kMiB};
  expect(setrlimit(RLIMIT_AS, &wrong) != 0 && errno == EINVAL, "a bound above its own bound");
}

static void check_lock(void) {
  const size_t before = status_mib("VmRSS:");
  const size_t own = status_mib("VmSize:") - heaps_mib();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    expect(errno == ENOMEM || errno == EPERM, "mlockall: %s", strerror(errno));
    return; /* not allowed here */
  }
  const size_t after = status_mib("VmRSS:");
  expect(after <= before + own, "%zu MiB became %zu, of %zu that are the program's", before, after,
         own);
  const size_t locked = status_mib("VmLck:");
  char* block = malloc(64 * kMiB);
  expect(block != NULL && status_mib("VmLck:") >= locked + 64 && status_mib("VmRSS:") >= after + 64,
         "a new block is not locked");
  exchange("locked", MPI_COMM_WORLD);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  exchange("locked, a new communicator", copy);
  MPI_Comm_free(&copy);
  expect(status_mib("VmRSS:") <= after + 1024, "%zu MiB became %zu", after, status_mib("VmRSS:"));
  free(block);
  munlockall();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  exchange("at first", MPI_COMM_WORLD);
  if (argc > 1 && strcmp(argv[1], "limit") == 0) check_limit();
  if (argc > 1 && strcmp(argv[1], "lock") == 0) check_lock();
  exchange("at the end", MPI_COMM_WORLD);
  return finish();
}
