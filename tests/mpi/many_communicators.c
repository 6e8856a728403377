/* Many communicators at once, more than 256: each is weft's, and takes hardly a descriptor or a
   mapping more, and no thread, also where they are on several nodes. */
#include <dirent.h>

#include "check.h"

enum { kComms = 280, kMostMore = 40 };

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

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kComms; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  expect_ints_arrive(comms[0], 2, "the first communicator");
  const int descriptors_of_one = entries("/proc/self/fd"), mappings_of_one = mappings();
  const int threads_of_one = entries("/proc/self/task");
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < kComms; ++i) expect_ints_arrive(comms[i], 2, "one of many communicators");
  }
  const int more_descriptors = entries("/proc/self/fd") - descriptors_of_one;
  const int more_mappings = mappings() - mappings_of_one;
  const int more_threads = entries("/proc/self/task") - threads_of_one;
  expect(more_descriptors < kMostMore, "%d descriptors more", more_descriptors);
  expect(more_mappings < kMostMore, "%d mappings more", more_mappings);
  expect(more_threads == 0, "%d threads more", more_threads);
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  expect_ints_arrive(MPI_COMM_WORLD, 2, "the world after many communicators");
  return finish();
}
