/* Times what communicators and sizes cost, as the program's MPI gives them: a plain MPI program
   that knows nothing of weft, to be run as it is and with an add-on preloaded. Its argument says
   what; rank 0 prints the figures on one line, in these units:

     dup       us: a communicator that is duplicated, used for an allreduce of 8 bytes, and freed
     sizes     us: a broadcast, of 700 sizes in turn; the first time, and the third
     vectors   us: allgatherv, gatherv and scatterv of about 1 KiB a rank, and alltoallv of 0 to 500
               bytes for each rank, each with the same counts again and again, and with other counts
               in every call
     unlike    us: calls that are never alike: alltoallw, alltoallv in place and neighbour_alltoallv
               (around a ring) of 0 to 500 bytes for each rank, with other counts in every call; a
               broadcast of a datatype that is made for it; the same, an allreduce and an allgather;
               and a communicator of every second rank, with ten allreduces
     free      ms: 4 communicators that are freed while a peer computes for a second
     pairs     us: an allreduce of 8 bytes in communicators of 2
     kept      descriptors, mappings, threads, KiB: what a rank has for each of 100 communicators
               more that are in use
     shared    MiB: the shared memory of all ranks, with 100 communicators in use
     threads   s: 4 threads, each with communicators of its own, 50 in turn, of 20 calls each
     nothing   -: starts and ends

   All figures are those of the slowest rank, and medians where something is done many times. */
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kKept = 100, kSizes = 700, kMostBytes = 10 << 10, kThreads = 4 };

static int rank, ranks;

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

static double slowest(double value) {
  double most = 0;
  MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void sum_on(MPI_Comm comm) {
  int size = 0;
  double one = 1, sum = 0;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  require(sum == size, "an allreduce");
}

static void measure_dup(void) {
  enum { kTurns = 200, kWarm = 5 };
  double times[kTurns];
  for (int i = -kWarm; i < kTurns; ++i) {
    MPI_Comm comm;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    sum_on(comm);
    MPI_Comm_free(&comm);
    if (i >= 0) times[i] = MPI_Wtime() - begin;
  }
  const double all = slowest(median(times, kTurns));
  if (rank == 0) printf("%.2f\n", all * 1e6);
}

static void measure_sizes(void) {
  static unsigned char bytes[kMostBytes];
  double passes[3];
  for (int pass = 0; pass < 3; ++pass) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < kSizes; ++i) {
      const int count = 8 + i * ((kMostBytes - 8) / kSizes);
      if (rank == 0) bytes[0] = (unsigned char)i, bytes[count - 1] = (unsigned char)(i + pass);
      MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
      require(bytes[count - 1] == (unsigned char)(i + pass), "a broadcast");
    }
    passes[pass] = slowest((MPI_Wtime() - begin) / kSizes);
  }
  if (rank == 0) printf("%.2f %.2f\n", passes[0] * 1e6, passes[2] * 1e6);
}

enum { kAllgatherv, kGatherv, kScatterv, kAlltoallv, kVectors };

/* Of a call of vectors: the counts of all ranks, or those to each and from each. */
typedef struct {
  int *counts, *places, *received, *received_places;
  char *all, *own;
} Vectors;

static unsigned hashed(int turn, int number) {
  const unsigned random = ((unsigned)turn * 1024 + (unsigned)number) * 2654435761u;
  return random ^ random >> 15;
}

/* The counts of call `turn`, which hardly ever come again. */
static void set_counts(const Vectors* of, int which, int turn) {
  for (int r = 0, place = 0, received_place = 0; r < ranks; ++r) {
    if (which == kAlltoallv) {
      of->counts[r] = (int)(hashed(turn, rank * ranks + r) % 501);
      of->received[r] = (int)(hashed(turn, r * ranks + rank) % 501);
    } else {
      of->counts[r] = 1024 - 120 + (int)(hashed(turn, r) % 241);
    }
    of->places[r] = place;
    of->received_places[r] = received_place;
    place += of->counts[r];
    received_place += of->received[r];
  }
}

static void call_with_counts(const Vectors* of, int which) {
  const int mine = of->counts[rank];
  switch (which) {
    case kAllgatherv:
      MPI_Allgatherv(of->own, mine, MPI_CHAR, of->all, of->counts, of->places, MPI_CHAR,
                     MPI_COMM_WORLD);
      break;
    case kGatherv:
      MPI_Gatherv(of->own, mine, MPI_CHAR, of->all, of->counts, of->places, MPI_CHAR, 0,
                  MPI_COMM_WORLD);
      break;
    case kScatterv:
      MPI_Scatterv(of->all, of->counts, of->places, MPI_CHAR, of->own, mine, MPI_CHAR, 0,
                   MPI_COMM_WORLD);
      break;
    default:
      MPI_Alltoallv(of->own, of->counts, of->places, MPI_CHAR, of->all, of->received,
                    of->received_places, MPI_CHAR, MPI_COMM_WORLD);
  }
}

static void measure_vectors(void) {
  enum { kCalls = 2000, kWarm = 500, kMost = 1024 + 240, kBatches = 10 };
  const size_t number = (size_t)ranks;
  int* const numbers = calloc(4 * number, sizeof *numbers);
  char* const bytes = calloc(2 * number, kMost);
  const Vectors of = {numbers, numbers + number,      numbers + 2 * number, numbers + 3 * number,
                      bytes,   bytes + number * kMost};
  for (int which = 0; which < kVectors; ++which) {
    double took[2] = {0, 0};
    /* The host's calls and what it takes to take over from it are in the batches before 0. */
    for (int batch = -4; batch < 2 * kBatches; ++batch) {
      const int changes = batch & 1;
      double begin = 0;
      for (int i = -kWarm / kBatches; i < kCalls / kBatches; ++i) {
        if (i == 0) MPI_Barrier(MPI_COMM_WORLD), begin = MPI_Wtime();
        /* The same ones are as the others: places at no multiple of a cache line, whose copies take
           longer. */
        set_counts(&of, which, changes ? 1 + batch * kCalls + i + kWarm : 1);
        call_with_counts(&of, which);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const double took_now = slowest(MPI_Wtime() - begin);
      if (batch >= 0) took[changes] += took_now;
    }
    if (rank == 0) printf("%.2f %.2f ", took[0] * 1e6 / kCalls, took[1] * 1e6 / kCalls);
  }
  if (rank == 0) printf("\n");
  free(numbers), free(bytes);
}

enum { kAlltoallw, kInPlace, kNeighbours, kNewType, kBesideNewType, kHalves, kUnlike };

/* The bytes from one rank to another in call `turn`. */
static int pair_bytes(int turn, int from, int to) {
  return (int)(hashed(turn, from * ranks + to) % 501);
}

static void exchange_unlike(int which, int turn, MPI_Comm ring, char* sent, char* received) {
  enum { kMostRanks = 64, kPlace = 512 };
  static int counts[kMostRanks], received_counts[kMostRanks], places[kMostRanks];
  static MPI_Datatype types[kMostRanks];
  for (int r = 0; r < ranks; ++r) {
    counts[r] = pair_bytes(turn, rank, r);
    received_counts[r] = pair_bytes(turn, r, rank);
    if (which == kInPlace) received_counts[r] = r < rank ? received_counts[r] : counts[r];
    places[r] = r * kPlace;
    types[r] = MPI_CHAR;
  }
  if (which == kAlltoallw) {
    MPI_Alltoallw(sent, counts, places, types, received, received_counts, places, types,
                  MPI_COMM_WORLD);
  } else if (which == kInPlace) {
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_CHAR, received, received_counts, places, MPI_CHAR,
                  MPI_COMM_WORLD);
  } else {
    /* The rank before this one, then the one after it: each sends on in its own order. */
    const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    const int out[] = {(int)(hashed(turn, 2 * rank) % 501),
                       (int)(hashed(turn, 2 * rank + 1) % 501)};
    const int in[] = {(int)(hashed(turn, 2 * before + 1) % 501),
                      (int)(hashed(turn, 2 * after) % 501)};
    MPI_Neighbor_alltoallv(sent, out, places, MPI_CHAR, received, in, places, MPI_CHAR, ring);
  }
}

static void call_unlike(int which, int turn, MPI_Comm ring, char* sent, char* received) {
  if (which <= kNeighbours) return exchange_unlike(which, turn, ring, sent, received);
  if (which == kHalves) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 10; ++i) sum_on(half);
    MPI_Comm_free(&half);
    return;
  }
  MPI_Datatype type;
  MPI_Type_vector(16, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Bcast(sent, 1, type, 0, MPI_COMM_WORLD);
  if (which == kBesideNewType) {
    sum_on(MPI_COMM_WORLD);
    MPI_Allgather(sent, 4, MPI_CHAR, received, 4, MPI_CHAR, MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
}

static void measure_unlike(void) {
  const int is_periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &is_periodic, 0, &ring);
  char* const sent = calloc((size_t)ranks, 512);
  char* const received = calloc((size_t)ranks, 512);
  for (int which = 0; which < kUnlike; ++which) {
    const int calls = which == kHalves ? 1000 : 8000;
    double begin = 0;
    for (int turn = -calls / 4; turn < calls; ++turn) {
      if (turn == 0) MPI_Barrier(MPI_COMM_WORLD), begin = MPI_Wtime();
      call_unlike(which, turn + calls, ring, sent, received);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double took = slowest(MPI_Wtime() - begin);
    if (rank == 0) printf("%.2f ", took * 1e6 / calls);
  }
  if (rank == 0) printf("\n");
  free(sent), free(received);
  MPI_Comm_free(&ring);
}

static void measure_free(void) {
  MPI_Comm comms[4];
  for (int i = 0; i < 4; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int turn = 0; turn < 2; ++turn) sum_on(comms[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == ranks - 1) {
    while (MPI_Wtime() < begin + 1) {
    }
  }
  const double freed_at = MPI_Wtime();
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
  const double all = slowest(MPI_Wtime() - freed_at);
  if (rank == 0) printf("%.2f\n", all * 1e3);
}

static void measure_pairs(void) {
  enum { kCalls = 20000, kWarm = 5000 };
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  for (int i = 0; i < kWarm; ++i) sum_on(pair);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < kCalls; ++i) sum_on(pair);
  const double all = slowest((MPI_Wtime() - begin) / kCalls);
  if (rank == 0) printf("%.2f\n", all * 1e6);
  MPI_Comm_free(&pair);
}

static double entries(const char* folder) {
  DIR* open = opendir(folder);
  double count = 0;
  if (open == NULL) return 0;
  while (readdir(open) != NULL) ++count;
  closedir(open);
  return count;
}

/* Of a file of /proc: its lines, or the KiB that its line `key` gives. */
static double lines_or_value(const char* path, const char* key) {
  char line[512];
  FILE* file = fopen(path, "r");
  double lines = 0, value = 0;
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    ++lines;
    if (key != NULL && strncmp(line, key, strlen(key)) == 0) value = atof(line + strlen(key));
  }
  fclose(file);
  return key == NULL ? lines : value;
}

static MPI_Comm kept[kKept];

static void use_kept(void) {
  for (int i = 0; i < kKept; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &kept[i]);
  for (int i = 0; i < kKept; ++i) {
    for (int call = 0; call < 3; ++call) sum_on(kept[i]);
  }
}

static void measure_kept(void) {
  double before[4] = {0}, more[4];
  for (int call = 0; call < 3; ++call) sum_on(MPI_COMM_WORLD);
  for (int after = 0; after < 2; ++after) {
    const double now[4] = {entries("/proc/self/fd"), lines_or_value("/proc/self/maps", NULL),
                           entries("/proc/self/task"),
                           lines_or_value("/proc/self/smaps_rollup", "Pss:")};
    for (int i = 0; i < 4; ++i) more[i] = (now[i] - before[i]) / kKept, before[i] = now[i];
    if (after == 0) use_kept();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < 4; ++i) more[i] = slowest(more[i]);
  if (rank == 0) printf("%.2f %.2f %.2f %.1f\n", more[0], more[1], more[2], more[3]);
}

static void measure_shared(void) {
  double mine = 0, all = 0;
  use_kept();
  MPI_Barrier(MPI_COMM_WORLD);
  mine = lines_or_value("/proc/self/smaps_rollup", "Pss_Shmem:") / 1024;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f\n", all);
}

static MPI_Comm of_thread[kThreads];

static void* use_communicators(void* number) {
  const MPI_Comm mine = of_thread[(long)number];
  for (int i = 0; i < 50; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(mine, &comm);
    for (int call = 0; call < 20; ++call) sum_on(comm);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

static void measure_threads(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < kThreads; ++i) {
    pthread_create(&threads[i], NULL, use_communicators, (void*)i);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  const double all = slowest(MPI_Wtime() - begin);
  if (rank == 0) printf("%.2f\n", all);
}

static void measure_nothing(void) {
  if (rank == 0) printf("0\n");
}

static const struct {
  const char* name;
  void (*measure)(void);
} subjects[] = {{"dup", measure_dup},         {"sizes", measure_sizes},
                {"vectors", measure_vectors}, {"unlike", measure_unlike},
                {"free", measure_free},       {"pairs", measure_pairs},
                {"kept", measure_kept},       {"shared", measure_shared},
                {"threads", measure_threads}, {"nothing", measure_nothing}};

int main(int argc, char** argv) {
  const char* subject = argc == 2 ? argv[1] : "";
  int given = 0;
  MPI_Init_thread(&argc, &argv,
                  strcmp(subject, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i) {
    if (strcmp(subject, subjects[i].name) != 0) continue;
    subjects[i].measure();
    return MPI_Finalize();
  }
  if (rank == 0) {
    fprintf(stderr, "usage: %s dup|sizes|vectors|unlike|free|pairs|kept|shared|threads|nothing\n",
            argv[0]);
  }
  MPI_Finalize();
  return 2;
}
