/* Many communicators at once: each is weft's, and takes hardly a descriptor or a mapping more. */
#include <dirent.h>

#include "check.h"

enum { kComms = 280, kMostMore = 40 };

static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
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

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kComms; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  expect_ints_arrive(comms[0], 2, "the first communicator");
  const int descriptors_of_one = descriptors(), mappings_of_one = mappings();
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < kComms; ++i) expect_ints_arrive(comms[i], 2, "one of many communicators");
  }
  const int more_descriptors = descriptors() - descriptors_of_one;
  const int more_mappings = mappings() - mappings_of_one;
  expect(more_descriptors < kMostMore, "%d descriptors more", more_descriptors);
  expect(more_mappings < kMostMore, "%d mappings more", more_mappings);
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  expect_ints_arrive(MPI_COMM_WORLD, 2, "the world after many communicators");
  return finish();
}
