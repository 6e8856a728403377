/* What comes from the shared heap when nobody has asked for one: long blocks, as long as the
 * program loses nothing by it. "none" as an argument: nothing may come from it; "churn": blocks
 * whose pages go back whenever they are freed. */
#include <malloc.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

static uintptr_t heap_begin = 0, heap_end = 0;

/* The heap's addresses, from this process's list of mappings. */
static void find_heap(void) {
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long long begin = 0, end = 0;
    if (strstr(line, "memfd:weft-heap") == NULL || heap_begin != 0) continue;
    if (sscanf(line, "%llx-%llx", &begin, &end) != 2) continue;
    heap_begin = (uintptr_t)begin;
    heap_end = (uintptr_t)end;
  }
  fclose(maps);
}

static int is_in_heap(const void* block) {
  const uintptr_t at = (uintptr_t)block;
  return at >= heap_begin && at < heap_end;
}

static const size_t kKiB = 1024, kMiB = 1024 * 1024;

/* Whether a block of so many bytes comes from the heap now. */
static int comes_from_heap(size_t bytes) {
  unsigned char* block = malloc(bytes);
  const int result = is_in_heap(block);
  memset(block, 1, bytes);
  free(block);
  return result;
}

static void check_sizes(void) {
  expect(!comes_from_heap(100) && !comes_from_heap(31 * kKiB), "a short block is in the heap");
  expect(comes_from_heap(32 * kKiB) && comes_from_heap(kMiB), "a long block is not in the heap");
  void* block = NULL;
  expect(posix_memalign(&block, 4096, kMiB) == 0 && is_in_heap(block), "an aligned one is not");
  free(block);
  block = calloc(64, kKiB);
  expect(is_in_heap(block), "one of calloc is not");
  free(block);
}

/* Memory that was used before is zero for those who ask for zeros. */
static void check_zeros(void) {
  unsigned char* block = malloc(kMiB);
  memset(block, 0xff, kMiB);
  free(block);
  block = calloc(kMiB, 1);
  int any = 0;
  for (size_t i = 0; i < kMiB; ++i) any |= block[i];
  expect(any == 0, "calloc gave what was there before");
#ifndef MPICH_VERSION /* its UCX takes madvise past the add-on */
  memset(block, 0xff, kMiB);
  unsigned char* page = (unsigned char*)(((uintptr_t)block + 4095) / 4096 * 4096);
  expect(madvise(page, 64 * kKiB, MADV_DONTNEED) == 0 && page[0] == 0 && page[64 * kKiB - 1] == 0 &&
             page[64 * kKiB] == 0xff,
         "MADV_DONTNEED left what was there");
  expect(madvise(page + 64 * kKiB, 64 * kKiB, MADV_FREE) == 0, "MADV_FREE is refused");
#endif
  free(block);
}

/* A block that grows goes where growing is cheap, with what it holds. */
static void check_growth(void) {
  unsigned char* block = malloc(kMiB);
  memset(block, 7, kMiB);
  expect(is_in_heap(block), "1 MiB is not in the heap");
  block = realloc(block, 64 * kMiB);
  expect(!is_in_heap(block) && block[0] == 7 && block[kMiB - 1] == 7, "it did not leave");
  free(block);
}

/* Where the heap has no huge pages, a program that wants them gets its next blocks elsewhere. */
#ifndef MPICH_VERSION
static void check_huge_pages(int heap_has_them) {
  unsigned char* block = malloc(8 * kMiB);
  expect(is_in_heap(block), "8 MiB are not in the heap");
  unsigned char* page = (unsigned char*)(((uintptr_t)block + 4095) / 4096 * 4096);
  madvise(page, 4 * kMiB, MADV_HUGEPAGE);
  free(block);
  expect(comes_from_heap(8 * kMiB) == heap_has_them, "8 MiB for a program that wants huge pages");
  expect(comes_from_heap(kMiB), "1 MiB is not in the heap any more");
}

#endif

enum { kBlocks = 96 };

/* First touches of shared memory take longer, so the heap has so many MiB in use at first, 20 for
 * the ranks of a core, and 2.8 more for each second of the process's processor time. */
static double allowance(void) {
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  return ranks <= cores ? 20 : 20 * cores / ranks;
}

static struct timespec begin;
__attribute__((constructor)) static void note_begin(void) {
  clock_gettime(CLOCK_MONOTONIC, &begin);
}

/* More MiB than the heap may have now, by what time alone gives it. */
static double too_many(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return allowance() + 4 * (1.0 + (double)(now.tv_sec - begin.tv_sec));
}

/* The number of blocks of 1 MiB, of kBlocks that the program keeps, that came from the heap. */
static int kept_in_heap(void** blocks) {
  int in_heap = 0;
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc(kMiB);
    in_heap += is_in_heap(blocks[i]);
  }
  return in_heap;
}

static void free_all(void** blocks) {
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

static void check_limit(void) {
  void* blocks[kBlocks];
  for (int turn = 0; turn < 2; ++turn) {
    const int in_heap = kept_in_heap(blocks);
    /* What the MPI allocates while it starts is not counted. */
    expect(in_heap > allowance() - 2 && in_heap < too_many(), "%d MiB are in the heap", in_heap);
    free_all(blocks);
  }
}

/* Lets each rank read so many MiB of its peer's heap. Sums of floating point are never left to the
 * host. */
static void read_heaps(int mebibytes) {
  float* input = calloc(kMiB, 1);
  float* output = malloc(kMiB);
  expect(is_in_heap(input), "the input is not in the heap");
  for (int i = 0; i < mebibytes; ++i) {
    MPI_Allreduce(input, output, (int)(kMiB / sizeof *input), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  free(input);
  free(output);
}

/* What peers read is worth it: a sixteenth of as many bytes. */
static void check_gain(void) {
  read_heaps(1600);
  void* blocks[kBlocks];
  const int in_heap = kept_in_heap(blocks);
  expect(in_heap > allowance() + 24, "%d MiB are in the heap after calls that read it", in_heap);
  free_all(blocks);
}

/* Whether a word holds in a file under /sys/kernel/mm/transparent_hugepage. */
static int holds(const char* file, const char* word) {
  char path[256], line[256] = "";
  snprintf(path, sizeof path, "/sys/kernel/mm/transparent_hugepage/%s", file);
  FILE* stream = fopen(path, "r");
  if (stream == NULL) return 0;
  if (fgets(line, sizeof line, stream) == NULL) line[0] = '\0';
  fclose(stream);
  return strstr(line, word) != NULL;
}

static int heap_has_huge_pages(void) {
  return !holds("shmem_enabled", "[never]") && !holds("shmem_enabled", "[deny]");
}

/* Of blocks that give their pages back whenever they are freed each counts; of others none does. */
static void check_churn(void) {
  if (holds("enabled", "[always]") || heap_has_huge_pages()) return;
  const int worth = 100;
  read_heaps(16 * worth);
  int in_heap = 0;
  for (int i = 0; i < 8; ++i) in_heap += comes_from_heap(40 * kMiB);
  expect(in_heap > 0 && 40 * in_heap < worth + too_many(),
         "%d of 8 blocks of 40 MiB were in the heap", in_heap);
  expect(comes_from_heap(24 * kMiB), "24 MiB are not in the heap any more");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  find_heap();
  if (argc > 1 && strcmp(argv[1], "none") == 0) {
    expect(!comes_from_heap(32 * kKiB) && !comes_from_heap(kMiB), "there is a heap");
    return finish();
  }
  expect(heap_begin != 0, "there is no heap");
  if (argc > 1 && strcmp(argv[1], "churn") == 0) {
    check_churn();
    return finish();
  }
  if (argc > 1 && strcmp(argv[1], "limit") == 0) {
    if (!heap_has_huge_pages()) check_limit();
    return finish();
  }
  check_sizes();
  check_zeros();
  check_growth();
  if (!holds("enabled", "[always]") || heap_has_huge_pages()) {
    if (!heap_has_huge_pages()) {
      check_limit();
      check_gain();
    }
#ifndef MPICH_VERSION
    check_huge_pages(heap_has_huge_pages());
#endif
  } else {
    expect(!comes_from_heap(2 * kMiB), "2 MiB would lie in a huge page elsewhere");
  }
  return finish();
}
