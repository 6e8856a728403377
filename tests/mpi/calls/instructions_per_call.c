/* instructions_per_call [--most N] [--only NAME] [--trace NAME]: how many instructions a warm
   blocking call of a rank takes from its entry to its first access to shared memory, and in all.

   A rank steps through its own calls by the processor's trap flag, and counts in a handler of
   SIGTRAP. Shared memory of weft (mappings of its memory files) is out of reach meanwhile: the
   first access faults, and the handler gives it back. As steps take a thousand times as long as
   instructions do, the processor's counter is read for the call, too: a tick an instruction. Each
   rank counts in turn while the others call as usual. What a call takes in all is the least of its
   turns, in which it waits for nothing; the way to the first access is the median of them.

   Each collective is called with one size and with ten sizes in turns; allgatherv_new has other
   counts in each call. --most: fails where a way to the first access is longer; without vectors of
   counts, which have no such way yet. --only: this collective alone. --trace: prints the addresses
   of the instructions of one call of this collective, in their order, as offsets into the mapped
   file. Exits with 77 where there is no trap flag. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

enum {
  kSizes = 10,
  kTurns = 3,
  kMostRanks = 16,
  kWarm = 40,
  kMostMappings = 256,
  kMostSteps = 1 << 16
};

static int rank, ranks;
static uint64_t in[kMostRanks * kSizes], out[kMostRanks * kSizes];
static int counts[kSizes + 1][kMostRanks], places[kSizes + 1][kMostRanks];

static void alltoall(int n) {
  MPI_Alltoall(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, MPI_COMM_WORLD);
}
static void allgather(int n) {
  MPI_Allgather(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, MPI_COMM_WORLD);
}
static void allreduce(int n) {
  MPI_Allreduce(in, out, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void allgather_in_place(int n) {
  MPI_Allgather(MPI_IN_PLACE, n, MPI_UINT64_T, out, n, MPI_UINT64_T, MPI_COMM_WORLD);
}
static void allreduce_in_place(int n) {
  MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void broadcast(int n) {
  MPI_Bcast(rank == 0 ? in : out, n, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static void barrier(int n) {
  (void)n;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void reduce(int n) {
  MPI_Reduce(in, rank == 0 ? out : NULL, n, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void gather(int n) {
  MPI_Gather(in, n, MPI_UINT64_T, rank == 0 ? out : NULL, n, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static void scatter(int n) {
  MPI_Scatter(rank == 0 ? in : NULL, n, MPI_UINT64_T, out, n, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static void reduce_scatter(int n) {
  MPI_Reduce_scatter_block(in, out, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void iallreduce(int n) {
  MPI_Request request;
  MPI_Iallreduce(in, out, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void ialltoall(int n) {
  MPI_Request request;
  MPI_Ialltoall(in, n, MPI_UINT64_T, out, n, MPI_UINT64_T, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void scan(int n) {
  MPI_Scan(in, out, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void alltoallv(int n) {
  MPI_Alltoallv(in, counts[n], places[n], MPI_UINT64_T, out, counts[n], places[n], MPI_UINT64_T,
                MPI_COMM_WORLD);
}
static void alltoallw(int n) {
  static int bytes[kMostRanks];
  static MPI_Datatype types[kMostRanks];
  for (int i = 0; i < ranks; ++i) {
    bytes[i] = 8 * places[n][i];
    types[i] = MPI_UINT64_T;
  }
  MPI_Alltoallw(in, counts[n], bytes, types, out, counts[n], bytes, types, MPI_COMM_WORLD);
}
static void allgatherv(int n) {
  MPI_Allgatherv(in, n, MPI_UINT64_T, out, counts[n], places[n], MPI_UINT64_T, MPI_COMM_WORLD);
}
static void gatherv(int n) {
  MPI_Gatherv(in, n, MPI_UINT64_T, out, counts[n], places[n], MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static void scatterv(int n) {
  MPI_Scatterv(in, counts[n], places[n], MPI_UINT64_T, out, n, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

/* With counts that hardly any call before has had, the same on all ranks; of few size classes, so
   that all of them are known soon. */
static void set_new_counts(void) {
  static uint32_t state = 1;
  const uint32_t most = sizeof out / (unsigned)ranks;
  for (int peer = 0, place = 0; peer < ranks; place += counts[0][peer++]) {
    state = state * 1664525 + 1013904223;
    counts[0][peer] = (int)(most - (state >> 8) % (most / 4));
    places[0][peer] = place;
  }
}
static void allgatherv_new(int n) {
  (void)n;
  set_new_counts();
  MPI_Allgatherv(in, counts[0][rank], MPI_BYTE, out, counts[0], places[0], MPI_BYTE,
                 MPI_COMM_WORLD);
}

static const struct Collective {
  const char* name;
  void (*call)(int n); /* n elements of 8 bytes in a block or vector */
  int is_bounded;
} collectives[] = {
    {"alltoall", alltoall, 1},
    {"allgather", allgather, 1},
    {"allreduce", allreduce, 1},
    {"broadcast", broadcast, 1},
    {"barrier", barrier, 1},
    {"reduce", reduce, 1},
    {"gather", gather, 1},
    {"scatter", scatter, 1},
    {"reduce_scatter", reduce_scatter, 1},
    {"scan", scan, 1},
    {"iallreduce", iallreduce, 0},
    {"ialltoall", ialltoall, 0},
    {"alltoallv", alltoallv, 0},
    {"alltoallw", alltoallw, 0},
    {"allgatherv", allgatherv, 0},
    {"gatherv", gatherv, 0},
    {"scatterv", scatterv, 0},
    {"allgatherv_new", allgatherv_new, 0},
    {"allgather_in_place", allgather_in_place, 1},
    {"allreduce_in_place", allreduce_in_place, 0},
};
enum { kCollectives = sizeof collectives / sizeof collectives[0] };

#if defined(__x86_64__) && defined(__linux__)

static struct {
  char* begin;
  size_t bytes;
} mappings[kMostMappings];
static int mapped;
static volatile int is_locked;
static volatile long steps, first;
static volatile uint64_t began; /* by the processor's counter */
static uintptr_t trace[kMostSteps];

/* Weft's shared mappings. */
static void find_mappings(void) {
  mapped = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  char line[4096];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    unsigned long begin, end;
    char access[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3) continue;
    if (strcmp(access, "rw-s") != 0 || strstr(line, "memfd:weft") == NULL) continue;
    if (mapped == kMostMappings) break;
    mappings[mapped].begin = (char*)begin;
    mappings[mapped++].bytes = end - begin;
  }
  if (file != NULL) fclose(file);
}

static void set_access(int access) {
  for (int i = 0; i < mapped; ++i) mprotect(mappings[i].begin, mappings[i].bytes, access);
}

/* The program's own instructions, before and after the call, are none of it. */
extern char __executable_start, etext;

static void add_step(uintptr_t address) {
  if (address >= (uintptr_t)&__executable_start && address < (uintptr_t)&etext) return;
  if (steps < kMostSteps) trace[steps] = address;
  ++steps;
}

static void on_step(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  add_step((uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP]);
}

/* Whether the instruction reads the processor's counter: then it is done. */
static int read_counter(greg_t* registers) {
  static const unsigned char rdtsc[] = {0x0f, 0x31}, rdtscp[] = {0x0f, 0x01, 0xf9};
  const unsigned char* code = (const unsigned char*)registers[REG_RIP];
  const int is_short = memcmp(code, rdtsc, sizeof rdtsc) == 0;
  if (!is_short && memcmp(code, rdtscp, sizeof rdtscp) != 0) return 0;
  const uint64_t ticks = began + (uint64_t)steps;
  registers[REG_RAX] = (greg_t)(uint32_t)ticks;
  registers[REG_RDX] = (greg_t)(ticks >> 32);
  if (!is_short) registers[REG_RCX] = 0;
  registers[REG_RIP] += is_short ? sizeof rdtsc : sizeof rdtscp;
  add_step((uintptr_t)registers[REG_RIP]);
  return 1;
}

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  const int of_memory = info->si_code == SEGV_ACCERR;
  if (!of_memory && read_counter(((ucontext_t*)context)->uc_mcontext.gregs)) return;
  if (!is_locked || !of_memory) _exit(3);
  is_locked = 0;
  first = steps;
  set_access(PROT_READ | PROT_WRITE);
}

static void catch_signal(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(number, &action, NULL);
}

/* One call, step by step. */
static void __attribute__((noinline)) step_through(void (*call)(int), int n) {
  steps = first = 0;
  began = __builtin_ia32_rdtsc();
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
  call(n);
  __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
}

static int compare(const void* a, const void* b) {
  const long x = *(const long*)a, y = *(const long*)b;
  return (x > y) - (x < y);
}

struct Count {
  long first, all;
};

static void warm_up(const struct Collective* collective, int sizes) {
  for (int turn = 0; turn < kWarm; ++turn) {
    for (int n = 1; n <= sizes; ++n) collective->call(n);
  }
}

/* Of this rank where it is `counting`, with sizes 1 to `sizes` in turns; the others only call. */
static struct Count count(const struct Collective* collective, int sizes, int counting) {
  static long firsts[kTurns * kSizes];
  struct Count result = {0, 1L << 60};
  int made = 0;
  warm_up(collective, sizes);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int n = 1; n <= sizes; ++n) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank != counting) {
        collective->call(n);
        continue;
      }
      is_locked = 1;
      set_access(PROT_NONE);
      step_through(collective->call, n);
      if (is_locked) set_access(PROT_READ | PROT_WRITE);
      expect(!is_locked, "%s: no access to shared memory", collective->name);
      is_locked = 0;
      firsts[made++] = first;
      if (steps < result.all) result.all = steps;
    }
  }
  if (rank != counting) return result;
  qsort(firsts, (size_t)made, sizeof firsts[0], compare);
  result.first = firsts[made / 2];
  return result;
}

static void print_trace(void) {
  for (long i = 0; i < steps && i < kMostSteps; ++i) {
    Dl_info info;
    const int known = dladdr((void*)trace[i], &info) != 0;
    printf("%s %#lx\n", known ? info.dli_fname : "?",
           (unsigned long)(trace[i] - (known ? (uintptr_t)info.dli_fbase : 0)));
  }
}

/* Calls are known by hashes of addresses, and those with the same hash are compared one after the
   other: so all lies where it lay the last time. */
static void lie_still(char** argv) {
  const int persona = personality(0xffffffff);
  if (persona == -1 || (persona & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality((unsigned long)persona | ADDR_NO_RANDOMIZE) != -1) execv("/proc/self/exe", argv);
}

int main(int argc, char** argv) {
  lie_still(argv);
  long most = 0;
  const char *traced = NULL, *only = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--most") == 0) most = atol(argv[i + 1]);
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (strcmp(argv[i], "--trace") == 0) traced = only = argv[i + 1];
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int n = 0; n <= kSizes; ++n) {
    for (int peer = 0; peer < ranks; ++peer) counts[n][peer] = n, places[n][peer] = n * peer;
  }
  catch_signal(SIGTRAP, on_step);
  catch_signal(SIGSEGV, on_fault);
  if (rank == 0 && traced == NULL) {
    printf(
        "instructions to the first access to shared memory / of a call that waits for nothing\n"
        "%-16s%6s%22s%22s\n",
        "", "rank", "one size", "ten sizes in turns");
  }
  for (int i = 0; i < kCollectives; ++i) {
    const struct Collective* collective = &collectives[i];
    if (only != NULL && strcmp(only, collective->name) != 0) continue;
    if (most != 0 && !collective->is_bounded) continue;
    warm_up(collective, kSizes);
    find_mappings();
    for (int counting = 0; counting < 2 && counting < ranks; ++counting) {
      struct Count found[2];
      found[0] = count(collective, 1, counting);
      if (traced != NULL && rank == counting) print_trace();
      found[1] = count(collective, kSizes, counting);
      if (traced != NULL || rank != counting) continue;
      printf("%-16s%6d%13ld /%7ld%13ld /%7ld\n", collective->name, rank, found[0].first,
             found[0].all, found[1].first, found[1].all);
      fflush(stdout);
      for (int k = 0; k < 2 && most != 0; ++k) {
        expect(found[k].first <= most, "%s, rank %d: %ld instructions before the first access",
               collective->name, rank, found[k].first);
      }
    }
  }
  return finish();
}

#else

int main(void) {
  return 77;
}

#endif
