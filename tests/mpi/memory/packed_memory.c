/* Long vectors, broadcasts and exchanges of elements with gaps: weft packs them piece by piece, so
 * the memory of a rank stays far below another copy of the data. */
#include <sys/resource.h>

#include "tests/mpi/program/check.h"

enum { COUNT = 10 << 20 }; /* elements of three bytes in four: 30 MiB of data */

static long peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  unsigned char* a = from;
  unsigned char* b = to;
  (void)type;
  for (long i = 0; i < *count; ++i) {
    for (long k = 0; k < 3; ++k) b[4 * i + k] = (unsigned char)(b[4 * i + k] + a[4 * i + k]);
  }
}

static unsigned char mine[4L * COUNT], sums[4L * COUNT], plain[3L * COUNT];

static void expect_values(const char* what, const unsigned char* data, int factor, int add_to) {
  long wrong = 0;
  for (long i = 0; i < COUNT; ++i) {
    for (long k = 0; k < 3; ++k) {
      wrong += data[4 * i + k] != (unsigned char)(factor * (i * 3 + k) + add_to);
    }
    wrong += data[4 * i + 3] != 0xee; /* the gap */
  }
  expect(wrong == 0, "%s: %ld bytes are wrong", what, wrong);
}

/* Of the blocks of `size` ranks, whose bytes follow from who sends them to whom. */
static unsigned char byte_of(int from, int to, long at) {
  return (unsigned char)(31 * from + 7 * to + at);
}
static void fill(unsigned char* data, int from, int blocks, long count, int to) {
  for (long i = 0; i < blocks * count * 3; ++i) {
    const int block = (int)(i / (3 * count));
    data[i / 3 * 4 + i % 3] = byte_of(from, to < 0 ? block : to, i % (3 * count));
  }
}
/* `from`, `to`: < 0: the block's number. */
static void expect_blocks(const char* what, const unsigned char* data, int from, int to, int blocks,
                          long count) {
  long wrong = 0;
  for (long i = 0; i < blocks * count * 3; ++i) {
    const int block = (int)(i / (3 * count));
    wrong += data[i / 3 * 4 + i % 3] !=
             byte_of(from < 0 ? block : from, to < 0 ? block : to, i % (3 * count));
    if (i % 3 == 0) wrong += data[i / 3 * 4 + 3] != 0xee; /* the gap */
  }
  expect(wrong == 0, "%s: %ld bytes are wrong", what, wrong);
}

/* Rank 0 sends plain bytes, where it sends its own block alone. */
static void move_blocks(MPI_Datatype element, int rank, int size) {
  const int count = COUNT / size - 5;
  const int sends_plain = rank == 0;
  memset(mine, 0xee, sizeof mine);
  fill(mine, rank, size, count, -1);
  memset(sums, 0xee, sizeof sums);
  MPI_Alltoall(mine, count, element, sums, count, element, MPI_COMM_WORLD);
  expect_blocks("alltoall", sums, -1, rank, size, count);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, count, element, MPI_COMM_WORLD);
  expect_blocks("alltoall in place", mine, -1, rank, size, count);

  for (long i = 0; i < 3L * count; ++i) plain[i] = byte_of(rank, 1, i);
  memset(mine, 0xee, sizeof mine);
  fill(mine, rank, 1, count, 1);
  const void* own = sends_plain ? plain : mine;
  const int own_count = sends_plain ? 3 * count : count;
  const MPI_Datatype own_type = sends_plain ? MPI_UNSIGNED_CHAR : element;
  memset(sums, 0xee, sizeof sums);
  MPI_Allgather(own, own_count, own_type, sums, count, element, MPI_COMM_WORLD);
  expect_blocks("allgather", sums, -1, 1, size, count);
  memset(sums, 0xee, sizeof sums);
  MPI_Gather(own, own_count, own_type, sums, count, element, 1, MPI_COMM_WORLD);
  if (rank == 1) expect_blocks("gather", sums, -1, 1, size, count);
  fill(mine, 1, size, count, -1);
  memset(sums, 0xee, sizeof sums);
  MPI_Scatter(mine, count, element, sums, count, element, 1, MPI_COMM_WORLD);
  expect_blocks("scatter", sums, 1, rank, 1, count);
  if (rank == 1) {
    MPI_Scatter(mine, count, element, MPI_IN_PLACE, 0, element, 1, MPI_COMM_WORLD);
    MPI_Gather(MPI_IN_PLACE, 0, element, mine, count, element, 1, MPI_COMM_WORLD);
    expect_blocks("scatter and gather in place", mine, 1, -1, size, count);
  } else {
    MPI_Scatter(NULL, 0, element, sums, count, element, 1, MPI_COMM_WORLD);
    MPI_Gather(sums, count, element, NULL, 0, element, 1, MPI_COMM_WORLD);
  }
}

/* Blocks of different sizes, the last rank's first, with an element between two of them; rank 1 has
 * none for rank 0. */
enum { MOST_RANKS = 16 };
static int count_of(int from, int to, int size) {
  return from == 1 && to == 0 ? 0 : COUNT / size - 5000 - 1001 * from + 77 * to;
}
static void place(int* places, const int* counts, int size) {
  int next = 1;
  for (int i = size - 1; i >= 0; --i) {
    places[i] = next;
    next += counts[i] + 1;
  }
}
/* `to`: < 0: the block's number. As fill(), of block `block` at its place. */
static void fill_at(unsigned char* data, int place, int from, int to, long count) {
  for (long i = 0; i < 3 * count; ++i) data[4L * place + i / 3 * 4 + i % 3] = byte_of(from, to, i);
}
static void expect_at(const char* what, const unsigned char* data, int place, int from, int to,
                      long count) {
  long wrong = data[4L * place - 1] != 0xee || data[4L * (place + count)] != 0xee;
  for (long i = 0; i < 3 * count; ++i) {
    wrong += data[4L * place + i / 3 * 4 + i % 3] != byte_of(from, to, i);
    if (i % 3 == 0) wrong += data[4L * place + i / 3 * 4 + 3] != 0xee;
  }
  expect(wrong == 0, "%s from %d to %d: %ld bytes are wrong", what, from, to, wrong);
}

/* Rank 0 sends plain bytes, and rank 2 receives plain bytes, where they have one block. */
static void move_irregular_blocks(MPI_Datatype element, int rank, int size) {
  int sends[MOST_RANKS], to[MOST_RANKS], receives[MOST_RANKS], from[MOST_RANKS];
  for (int i = 0; i < size; ++i) {
    sends[i] = count_of(rank, i, size);
    receives[i] = count_of(i, rank, size);
  }
  place(to, sends, size);
  place(from, receives, size);
  memset(mine, 0xee, sizeof mine);
  memset(sums, 0xee, sizeof sums);
  for (int i = 0; i < size; ++i) fill_at(mine, to[i], rank, i, sends[i]);
  MPI_Alltoallv(mine, sends, to, element, sums, receives, from, element, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect_at("alltoallv", sums, from[i], i, rank, receives[i]);

  for (int i = 0; i < size; ++i) receives[i] = count_of(i, 1, size);
  place(from, receives, size);
  memset(sums, 0xee, sizeof sums);
  for (long i = 0; i < 3L * receives[rank]; ++i) plain[i] = byte_of(rank, 1, i);
  fill_at(mine, 1, rank, 1, receives[rank]);
  const void* own = rank == 0 ? plain : mine + 4;
  const int own_count = rank == 0 ? 3 * receives[rank] : receives[rank];
  const MPI_Datatype own_type = rank == 0 ? MPI_UNSIGNED_CHAR : element;
  MPI_Allgatherv(own, own_count, own_type, sums, receives, from, element, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect_at("allgatherv", sums, from[i], i, 1, receives[i]);
  memset(sums, 0xee, sizeof sums);
  fill_at(sums, from[rank], rank, 1, receives[rank]);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums, receives, from, element, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect_at("allgatherv in place", sums, from[i], i, 1, receives[i]);

  /* Only rank 1 receives blocks of all; rank 0 sends plain bytes, rank 2 receives them. */
  memset(sums, 0xee, sizeof sums);
  MPI_Gatherv(own, own_count, own_type, sums, receives, from, element, 1, MPI_COMM_WORLD);
  for (int i = 0; rank == 1 && i < size; ++i)
    expect_at("gatherv", sums, from[i], i, 1, receives[i]);
  for (int i = 0; i < size; ++i) sends[i] = count_of(1, i, size);
  place(to, sends, size);
  if (rank == 1) {
    for (int i = 0; i < size; ++i) fill_at(mine, to[i], 1, i, sends[i]);
  }
  memset(sums, 0xee, sizeof sums);
  memset(plain, 0, sizeof plain);
  MPI_Scatterv(mine, sends, to, element, rank == 2 ? plain : sums + 4,
               rank == 2 ? 3 * sends[2] : sends[rank], rank == 2 ? MPI_UNSIGNED_CHAR : element, 1,
               MPI_COMM_WORLD);
  if (rank != 2) {
    expect_at("scatterv", sums, 1, 1, rank, sends[rank]);
  } else {
    long wrong = 0;
    for (long i = 0; i < 3L * sends[2]; ++i) wrong += plain[i] != byte_of(1, 2, i);
    expect(wrong == 0, "scatterv: %ld plain bytes are wrong", wrong);
  }
  /* In place at the root, and plain bytes there while others have elements with gaps; whose block
   * is empty takes part, too. */
  const int root = 0;
  for (int i = 0; i < size; ++i) receives[i] = 3 * count_of(i, root, size);
  from[0] = 0;
  for (int i = 1; i < size; ++i) from[i] = from[i - 1] + receives[i - 1];
  fill_at(mine, 1, rank, root, receives[rank] / 3);
  for (long i = 0; i < receives[0]; ++i) plain[i] = byte_of(0, root, i);
  MPI_Gatherv(rank == root ? MPI_IN_PLACE : mine + 4, receives[rank] / 3, element, plain, receives,
              from, MPI_UNSIGNED_CHAR, root, MPI_COMM_WORLD);
  for (int i = 0; rank == root && i < size; ++i) {
    long wrong = 0;
    for (long k = 0; k < receives[i]; ++k) wrong += plain[from[i] + k] != byte_of(i, root, k);
    expect(wrong == 0, "gatherv of plain bytes from %d: %ld are wrong", i, wrong);
  }
  memset(sums, 0xee, sizeof sums);
  MPI_Scatterv(plain, receives, from, MPI_UNSIGNED_CHAR, rank == root ? MPI_IN_PLACE : sums + 4,
               receives[rank] / 3, element, root, MPI_COMM_WORLD);
  if (rank != root) expect_at("scatterv of plain bytes", sums, 1, rank, root, receives[rank] / 3);
}

/* In place what goes to a rank is as much as what comes from it. */
static int count_between(int a, int b, int size) {
  return COUNT / size - 9000 - 1001 * (a + b) - 777 * a * b;
}
/* Rank 0 has plain bytes, the others elements with gaps. */
static void move_in_place(int rank, int size, MPI_Datatype element, int is_typed) {
  int counts[MOST_RANKS], at[MOST_RANKS], bytes_at[MOST_RANKS];
  MPI_Datatype types[MOST_RANKS];
  const int is_plain = rank == 0;
  for (int i = 0; i < size; ++i) counts[i] = count_between(rank, i, size);
  place(at, counts, size);
  memset(mine, 0xee, sizeof mine);
  for (int i = 0; i < size; ++i) {
    types[i] = is_plain ? MPI_UNSIGNED_CHAR : element;
    if (is_plain) {
      at[i] *= 3;
      for (long k = 0; k < 3L * counts[i]; ++k) mine[at[i] + k] = byte_of(rank, i, k);
      counts[i] *= 3;
    } else {
      fill_at(mine, at[i], rank, i, counts[i]);
    }
    bytes_at[i] = is_plain ? at[i] : 4 * at[i];
  }
  if (is_typed) {
    MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, mine, counts, bytes_at, types, MPI_COMM_WORLD);
  } else {
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, mine, counts, at, types[0],
                  MPI_COMM_WORLD);
  }
  for (int i = 0; i < size; ++i) {
    const char* what = is_typed ? "alltoallw in place" : "alltoallv in place";
    if (!is_plain) {
      expect_at(what, mine, at[i], i, rank, counts[i]);
      continue;
    }
    long wrong = 0;
    for (long k = 0; k < counts[i]; ++k) wrong += mine[at[i] + k] != byte_of(i, rank, k);
    expect(wrong == 0, "%s of plain bytes from %d: %ld are wrong", what, i, wrong);
  }
}

/* To rank 2 plain bytes go, elsewhere elements with gaps; rank 1 receives plain bytes. */
static void move_typed_blocks(int rank, int size, MPI_Datatype element) {
  int sends[MOST_RANKS], to[MOST_RANKS], receives[MOST_RANKS], from[MOST_RANKS];
  MPI_Datatype sent[MOST_RANKS], received[MOST_RANKS];
  for (int i = 0; i < size; ++i) {
    sends[i] = count_of(rank, i, size);
    receives[i] = count_of(i, rank, size);
  }
  place(to, sends, size);
  place(from, receives, size);
  memset(mine, 0xee, sizeof mine);
  memset(sums, 0xee, sizeof sums);
  for (int i = 0; i < size; ++i) {
    const int plain_to = i == 2, plain_from = rank == 1;
    sent[i] = plain_to ? MPI_UNSIGNED_CHAR : element;
    received[i] = plain_from ? MPI_UNSIGNED_CHAR : element;
    if (plain_to) {
      for (long k = 0; k < 3L * sends[i]; ++k) mine[4L * to[i] + k] = byte_of(rank, i, k);
    } else {
      fill_at(mine, to[i], rank, i, sends[i]);
    }
    sends[i] *= plain_to ? 3 : 1;
    receives[i] *= plain_from ? 3 : 1;
    to[i] *= 4;
    from[i] *= 4;
  }
  MPI_Alltoallw(mine, sends, to, sent, sums, receives, from, received, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    if (received[i] == element) {
      expect_at("alltoallw", sums, from[i] / 4, i, rank, receives[i]);
      continue;
    }
    long wrong = 0;
    for (long k = 0; k < receives[i]; ++k) wrong += sums[from[i] + k] != byte_of(i, rank, k);
    expect(wrong == 0, "alltoallw of plain bytes from %d: %ld are wrong", i, wrong);
  }
}

/* `grows`: the blocks of higher ranks are longer. What lies behind the result in place is not
 * looked at, but for gaps. */
static void scatter_sums(int rank, int size, MPI_Datatype element, MPI_Op sum, int grows,
                         int in_place) {
  int counts[MOST_RANKS];
  long before = 0;
  for (int i = 0; i < size; ++i) {
    counts[i] = COUNT / (size + 3) + 4001 * (grows ? i : size - i);
    if (i < rank) before += counts[i];
  }
  memset(mine, 0xee, sizeof mine);
  memset(sums, 0xee, sizeof sums);
  unsigned char* from = in_place ? sums : mine;
  for (long i = 0; i < COUNT; ++i) {
    for (long k = 0; k < 3; ++k) from[4 * i + k] = (unsigned char)(i * 3 + k + rank);
  }
  MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : mine, sums, counts, element, sum, MPI_COMM_WORLD);
  long wrong = 0;
  for (long i = 0; i < counts[rank]; ++i) {
    for (long k = 0; k < 3; ++k) {
      wrong +=
          sums[4 * i + k] != (unsigned char)(size * ((before + i) * 3 + k) + size * (size - 1) / 2);
    }
  }
  for (long i = 0; i < COUNT; ++i) wrong += sums[4 * i + 3] != 0xee;
  expect(wrong == 0, "reduce_scatter%s of %s blocks: %ld bytes are wrong",
         in_place ? " in place" : "", grows ? "growing" : "shrinking", wrong);
}

/* Pairs with gaps, of which the host's kernel has a layout of its own. */
static void scatter_pairs(int rank, int size) {
  struct pair {
    double value;
    int index;
  };
  const int count = (int)(sizeof mine / sizeof(struct pair)) / size;
  struct pair* const given = (struct pair*)mine;
  struct pair* const found = (struct pair*)sums;
  for (long i = 0; i < (long)count * size; ++i) {
    given[i].value = (double)((i + rank) % size);
    given[i].index = rank;
  }
  memset(sums, 0xee, sizeof sums);
  MPI_Reduce_scatter_block(given, found, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  long wrong = 0;
  for (long i = 0; i < count; ++i) {
    const long at = (long)rank * count + i;
    wrong += found[i].value != size - 1 || (at + found[i].index) % size != size - 1;
  }
  expect(wrong == 0, "reduce_scatter_block: %ld pairs are wrong", wrong);
}

/* The calls with set-ups of their own, of little. */
static void warm_up(int size, MPI_Datatype element, MPI_Op sum) {
  int counts[MOST_RANKS], places[MOST_RANKS];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1 << 16;
    places[i] = i << 16;
  }
  MPI_Alltoallv(mine, counts, places, element, sums, counts, places, element, MPI_COMM_WORLD);
  MPI_Reduce_scatter(mine, sums, counts, element, sum, MPI_COMM_WORLD);
}

static void fill_vector(int rank) {
  for (long i = 0; i < COUNT; ++i) {
    for (long k = 0; k < 3; ++k) mine[4 * i + k] = (unsigned char)(i * 3 + k + rank);
    mine[4 * i + 3] = 0xee;
  }
  memset(sums, 0xee, sizeof sums);
  memset(plain, 0, sizeof plain);
}

static void move_vectors(MPI_Datatype element, MPI_Op sum, int rank, int size) {
  fill_vector(rank);
  MPI_Allreduce(mine, sums, COUNT, element, sum, MPI_COMM_WORLD);
  expect_values("allreduce", sums, size, size * (size - 1) / 2);
  /* Elements with gaps on one rank, plain bytes on the others; pieces end inside of elements. */
  if (rank == 0) {
    MPI_Bcast(mine, COUNT, element, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(plain, 3 * COUNT, MPI_UNSIGNED_CHAR, 0, MPI_COMM_WORLD);
    long wrong = 0;
    for (long i = 0; i < 3L * COUNT; ++i) wrong += plain[i] != (unsigned char)i;
    expect(wrong == 0, "broadcast: %ld bytes are wrong", wrong);
  }
  if (rank == 1) {
    MPI_Bcast(plain, 3 * COUNT, MPI_UNSIGNED_CHAR, 1, MPI_COMM_WORLD);
  } else {
    memset(sums, 0xee, sizeof sums);
    MPI_Bcast(sums, COUNT, element, 1, MPI_COMM_WORLD);
    expect_values("broadcast back", sums, 1, 0);
  }
}

/* So many calls of plain bytes that nobody expects others. */
static void exchange_plain_bytes(int size) {
  enum { CALLS = 140 };
  int counts[MOST_RANKS], places[MOST_RANKS];
  const int count = (5 << 20) / size;
  for (int i = 0; i < size; ++i) {
    counts[i] = count;
    places[i] = i * count;
  }
  for (int call = 0; call < CALLS; ++call) {
    MPI_Alltoall(mine, count, MPI_UNSIGNED_CHAR, sums, count, MPI_UNSIGNED_CHAR, MPI_COMM_WORLD);
    MPI_Alltoallv(mine, counts, places, MPI_UNSIGNED_CHAR, sums, counts, places, MPI_UNSIGNED_CHAR,
                  MPI_COMM_WORLD);
  }
}

/* Arguments: "measured", where the memory is to stay small; "late", where elements with gaps come
 * after many calls without any. */
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST_RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
  const int is_measured = argc > 1, is_late = argc > 2;
  MPI_Datatype three, element;
  MPI_Type_contiguous(3, MPI_UNSIGNED_CHAR, &three);
  MPI_Type_create_resized(three, 0, 4, &element);
  MPI_Type_commit(&element);
  MPI_Op sum;
  MPI_Op_create(add, 1, &sum);
  fill_vector(rank);
  /* What is needed in any case, and the set-ups, come before it counts. */
  MPI_Allreduce(mine, sums, 2 << 20, element, sum, MPI_COMM_WORLD);
  MPI_Bcast(sums, 2 << 20, element, 0, MPI_COMM_WORLD);
  warm_up(size, element, sum);
  if (is_late) exchange_plain_bytes(size);
  memset(sums, 0xee, sizeof sums);
  const long before = peak_kib();
  move_blocks(element, rank, size);
  move_irregular_blocks(element, rank, size);
  if (!is_late) {
    move_vectors(element, sum, rank, size);
    move_typed_blocks(rank, size, element);
    for (int is_typed = 0; is_typed < 2; ++is_typed) move_in_place(rank, size, element, is_typed);
    for (int i = 0; i < 4; ++i) scatter_sums(rank, size, element, sum, i & 1, i / 2);
    scatter_pairs(rank, size);
  }
  const long more = peak_kib() - before;
  if (is_measured) expect(more < 24 << 10, "%ld KiB more at the peak", more);
  MPI_Op_free(&sum);
  MPI_Type_free(&element);
  MPI_Type_free(&three);
  return finish();
}
