/* Many communicators at once, more than 256: each is weft's, and takes hardly a descriptor or a
   mapping more, no thread, and little memory, also where they are on several nodes. */
#include <dirent.h>

#include "tests/mpi/program/check.h"

enum {
  kComms = 300,
  kMostMore = 40,       /* for each peer: of descriptors, mappings */
  kMost_bytes = 100000, /* of memory, for each communicator in steady use by small calls */
  kLargeInts = 700,     /* of a block: more than WEFT_EAGER for a node, out of registered memory */
};

static int entries(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static int mappings(void) {
  FILE* file = fopen("/proc/self/maps", "r");
  int count = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) count += c == '\n';
  fclose(file);
  return count;
}

/* Memory of this process, and its share of what it has in common with others. */
static double memory_bytes(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kib = 0;
  while (kib == 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "Pss: %ld", &kib);
  fclose(file);
  return 1024.0 * (double)kib;
}

struct Taken {
  int descriptors, mappings, threads;
  double bytes;
};

static struct Taken taken(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  struct Taken now = {entries("/proc/self/fd"), mappings(), entries("/proc/self/task"),
                      memory_bytes()};
  MPI_Barrier(MPI_COMM_WORLD);
  return now;
}

/* Returns the memory that each communicator has taken, on an average over the ranks. */
static double check(struct Taken before, int peers, const char* when) {
  const struct Taken now = taken();
  const int descriptors = now.descriptors - before.descriptors;
  const int more_mappings = now.mappings - before.mappings;
  double bytes = now.bytes - before.bytes, sum = 0;
  expect(descriptors < kMostMore, "%s: %d descriptors more", when, descriptors);
  expect(more_mappings < kMostMore + 4 * peers, "%s: %d mappings more", when, more_mappings);
  expect(now.threads == before.threads, "%s: %d threads more", when, now.threads - before.threads);
  MPI_Allreduce(&bytes, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sum /= (double)kComms * (peers + 1);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("%s: %d descriptors, %d mappings, %.1f KiB for each communicator\n", when, descriptors,
           more_mappings, sum / 1024);
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < kComms; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  expect_ints_arrive(comms[0], 2, "the first communicator");
  expect_ints_arrive(comms[0], kLargeInts, "the first communicator, large");
  const struct Taken one = taken();
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < kComms; ++i) expect_ints_arrive(comms[i], 2, "one of many communicators");
  }
  const double bytes = check(one, size - 1, "small calls");
  expect(bytes < kMost_bytes, "%.0f bytes for each communicator", bytes);
  for (int i = 0; i < kComms; ++i) expect_ints_arrive(comms[i], kLargeInts, "a large call");
  check(one, size - 1, "large calls");
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  expect_ints_arrive(MPI_COMM_WORLD, 2, "the world after many communicators");
  return finish();
}
