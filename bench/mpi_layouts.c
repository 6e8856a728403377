/* Times exchanges of derived datatypes, as the program's MPI gives them: a plain MPI program that
   knows nothing of weft, to be run as it is and with an add-on preloaded.

   Kinds, by what a rank sends to each other one (and what it receives):
     contiguous  MPI_Alltoall of bytes
     rows        MPI_Alltoall of an MPI_Type_vector: some columns of a matrix of doubles, row by row
                 (in a row)
     columns     the same, column by column: a transpose (in a row)
     complex     as columns, with elements of 16 bytes
     slabs       MPI_Alltoallw of subarrays of complex numbers, as an FFT in slabs: [:, part, :] of
                 one array (becomes [part, :, :] of another)
     pencils     the same, as an FFT in pencils: [:, :, part] (becomes [:, part, :])

   Sizes are bytes of a block, rounded down to what the kind can have. For each: warm-up, then
   `repeats` batches of calls back to back. A batch's figure is its time on the slowest rank over
   its calls. Rank 0 prints one line a size: bytes, then the figures of all batches in microseconds.
   Every answer is checked before and after, with MPI_Unpack and MPI_Pack. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* The arguments of MPI_Alltoallw on one side, displacements all 0, or of MPI_Alltoall. */
typedef struct {
  char* memory;
  size_t bytes; /* of the memory */
  int count;
  MPI_Datatype* types; /* by rank: of MPI_Alltoallw */
  MPI_Datatype type;   /* of MPI_Alltoall */
} Side;

static Side sends, receives;
static int block_bytes, is_w;
static int *ones, *zeros;

static void set_memory(Side* side, size_t bytes) {
  side->bytes = bytes;
  side->memory = malloc(bytes + 1);
}

static void set_in_a_row(Side* side) {
  side->count = block_bytes;
  side->type = MPI_BYTE;
  set_memory(side, (size_t)block_bytes * (size_t)ranks);
}

/* Blocks of `columns` columns of a matrix of 64 rows or more. */
static void set_matrix(Side* side, MPI_Datatype element, int element_bytes, int by_columns) {
  int columns = 64;
  while (columns > 1 && columns * columns * element_bytes > block_bytes) columns /= 2;
  const int rows = block_bytes / (columns * element_bytes);
  block_bytes = rows * columns * element_bytes;
  MPI_Datatype vector;
  MPI_Type_vector(rows, by_columns ? 1 : columns, columns * ranks, element, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)(by_columns ? 1 : columns) * element_bytes,
                          &side->type);
  MPI_Type_free(&vector);
  side->count = by_columns ? columns : 1;
  MPI_Type_commit(&side->type);
  set_memory(side, (size_t)block_bytes * (size_t)ranks);
}

/* Parts of an array of complex numbers along one of its axes. */
static void set_subarrays(Side* side, const int sizes[3], int axis) {
  side->types = calloc((size_t)ranks, sizeof(MPI_Datatype));
  for (int i = 0; i < ranks; ++i) {
    int parts[3] = {sizes[0], sizes[1], sizes[2]}, starts[3] = {0, 0, 0};
    parts[axis] = sizes[axis] / ranks;
    starts[axis] = i * parts[axis];
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_C_DOUBLE_COMPLEX,
                             &side->types[i]);
    MPI_Type_commit(&side->types[i]);
  }
  set_memory(side, (size_t)block_bytes * (size_t)ranks);
}

static void lay_out(const char* kind) {
  if (strcmp(kind, "rows") == 0) {
    set_matrix(&sends, MPI_DOUBLE, 8, 0);
  } else if (strcmp(kind, "columns") == 0) {
    set_matrix(&sends, MPI_DOUBLE, 8, 1);
  } else if (strcmp(kind, "complex") == 0) {
    set_matrix(&sends, MPI_C_DOUBLE_COMPLEX, 16, 1);
  } else if (strcmp(kind, "contiguous") == 0) {
    set_in_a_row(&sends);
  } else {
    /* Each block has 8 times 8 rows. */
    const int is_slab = strcmp(kind, "slabs") == 0;
    const int last = block_bytes / (8 * 8 * 16) > 0 ? block_bytes / (8 * 8 * 16) : 1;
    block_bytes = 8 * 8 * last * 16;
    const int from[3] = {8, is_slab ? 8 * ranks : 8, is_slab ? last : last * ranks};
    const int to[3] = {is_slab ? 8 * ranks : 8, is_slab ? 8 : 8 * ranks, last};
    is_w = 1;
    set_subarrays(&sends, from, is_slab ? 1 : 2);
    set_subarrays(&receives, to, is_slab ? 0 : 1);
    return;
  }
  set_in_a_row(&receives);
}

static void run(void) {
  if (is_w) {
    MPI_Alltoallw(sends.memory, ones, zeros, sends.types, receives.memory, ones, zeros,
                  receives.types, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(sends.memory, sends.count, sends.type, receives.memory, receives.count,
                 receives.type, MPI_COMM_WORLD);
  }
}

static unsigned char value(int from, int to, int at) {
  return (unsigned char)(from * 31 + to * 7 + at * 13 + at / 251);
}

/* Where a block begins, and its type. */
static char* block_of(const Side* side, int peer, MPI_Datatype* type) {
  *type = is_w ? side->types[peer] : side->type;
  MPI_Aint low, extent;
  MPI_Type_get_extent(*type, &low, &extent);
  return side->memory + (is_w ? 0 : extent * side->count * peer);
}

static void fill(void) {
  unsigned char* packed = malloc((size_t)block_bytes);
  for (int peer = 0; peer < ranks; ++peer) {
    for (int at = 0; at < block_bytes; ++at) packed[at] = value(rank, peer, at);
    MPI_Datatype type;
    char* block = block_of(&sends, peer, &type);
    int position = 0;
    MPI_Unpack(packed, block_bytes, &position, block, is_w ? 1 : sends.count, type, MPI_COMM_WORLD);
  }
  memset(receives.memory, 0, receives.bytes);
  free(packed);
}

static void check(const char* kind) {
  unsigned char* packed = malloc((size_t)block_bytes);
  for (int peer = 0; peer < ranks; ++peer) {
    MPI_Datatype type;
    char* block = block_of(&receives, peer, &type);
    int position = 0;
    MPI_Pack(block, is_w ? 1 : receives.count, type, packed, block_bytes, &position,
             MPI_COMM_WORLD);
    for (int at = 0; at < block_bytes; ++at) {
      if (packed[at] == value(peer, rank, at)) continue;
      fprintf(stderr, "%s: rank %d: wrong byte %d from rank %d, blocks of %d bytes\n", kind, rank,
              at, peer, block_bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  free(packed);
}

static double seconds_of(int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) run();
  return MPI_Wtime() - begin;
}

/* As many calls a batch as fill its time on the slowest rank. */
static int calls_for(double batch_seconds) {
  int calls = 1;
  for (;;) {
    double mine = seconds_of(calls), slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slowest > batch_seconds || calls > 1000000) return calls;
    calls *= 2;
  }
}

static void release(Side* side) {
  free(side->memory);
  for (int i = 0; side->types != NULL && i < ranks; ++i) MPI_Type_free(&side->types[i]);
  free(side->types);
  if (side->types == NULL && side->type != MPI_BYTE) MPI_Type_free(&side->type);
  memset(side, 0, sizeof *side);
}

static void measure(const char* kind, const char* size, int repeats, double batch_seconds) {
  block_bytes = atoi(size);
  lay_out(kind);
  fill();
  run();
  check(kind);
  const int calls = calls_for(batch_seconds);
  if (rank == 0) printf("%s", size);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double mine = seconds_of(calls) / calls * 1e6, slowest;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf(" %.3f", slowest);
  }
  if (rank == 0) {
    printf("\n");
    fflush(stdout);
  }
  check(kind);
  release(&sends);
  release(&receives);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static const char* const kinds[] = {"contiguous", "rows",  "columns",
                                      "complex",    "slabs", "pencils"};
  int is_known = 0;
  for (size_t i = 0; argc > 4 && i < sizeof kinds / sizeof kinds[0]; ++i) {
    is_known |= strcmp(argv[1], kinds[i]) == 0;
  }
  if (!is_known) {
    if (rank == 0) fprintf(stderr, "usage: mpi_layouts KIND REPEATS MILLISECONDS BYTES...\n");
    MPI_Finalize();
    return 2;
  }
  ones = malloc((size_t)ranks * sizeof *ones);
  zeros = calloc((size_t)ranks, sizeof *zeros);
  for (int i = 0; i < ranks; ++i) ones[i] = 1;
  for (int arg = 4; arg < argc; ++arg) {
    measure(argv[1], argv[arg], atoi(argv[2]), atof(argv[3]) / 1000);
  }
  free(ones);
  free(zeros);
  MPI_Finalize();
  return 0;
}
