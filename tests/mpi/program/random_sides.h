/* Random blocks in memory for the tests of random collectives, compared byte by byte. */
#ifndef WEFT_TESTS_MPI_RANDOM_SIDES_H
#define WEFT_TESTS_MPI_RANDOM_SIDES_H

#include "tests/mpi/program/host.h"
#include "tests/mpi/program/random_calls.h"

enum {
  kBcast,
  kScatter,
  kScatterv,
  kGather,
  kGatherv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kMoves,
  kReduce = kMoves,
  kAllreduce,
  kScan,
  kExscan,
  kReduceBlock,
  kReduceScatter,
  kCollectives
};
static const char* const names[] = {"bcast",
                                    "scatter",
                                    "scatterv",
                                    "gather",
                                    "gatherv",
                                    "allgather",
                                    "allgatherv",
                                    "alltoall",
                                    "reduce",
                                    "allreduce",
                                    "scan",
                                    "exscan",
                                    "reduce_scatter_block",
                                    "reduce_scatter"};

/* Arguments of a call that all ranks share, and two random generators: a common one, and one of
 * this rank. */
typedef struct {
  int collective, round, root, count, in_place;
  int* counts; /* of each rank; irregular calls only */
  MPI_Comm comm;
  int rank, size;
  uint64_t *shared, *own;
  int alike; /* ranks describe the same data by the same datatype */
} Trial;

/* Arguments that only the root reads may have any value on other ranks. */
static void* const kNowhere = (void*)8;

/* Blocks in memory: `block[i]` elements of each, `at[i]` elements behind the start. */
typedef struct {
  MPI_Datatype type;
  int is_made; /* to be freed */
  int blocks, *block, *at;
  int each;        /* elements, in regular calls */
  int *ints, *ats; /* of each block, packed one after another */
  Area mine, expected, before;
} Side;

/* A side with blocks of counts[i] times six ints; `anywhere`: with gaps and in any order. */
static Side make_side(const Trial* trial, int blocks, const int* counts, int anywhere) {
  Side side;
  uint64_t* random = trial->alike ? trial->shared : trial->own;
  const int plain = below(random, 3) == 0;
  const size_t bytes = sizeof(int) * (size_t)blocks;
  side.is_made = !plain;
  side.type = plain ? MPI_INT : make_type(below(random, kKinds));
  side.blocks = blocks;
  side.block = malloc(bytes);
  side.at = malloc(bytes);
  side.ints = malloc(bytes);
  side.ats = malloc(bytes);
  side.each = counts[0] * (plain ? kInts : 1);
  const int backwards = anywhere && below(trial->own, 2);
  int end = 0, packed = 0;
  for (int i = 0; i < blocks; ++i) {
    const int block = backwards ? blocks - 1 - i : i;
    side.block[block] = counts[block] * (plain ? kInts : 1);
    if (anywhere == 2) end += below(trial->own, 3);
    side.at[block] = end;
    end += side.block[block];
    side.ints[i] = counts[i] * kInts;
    side.ats[i] = packed;
    packed += side.ints[i];
  }
  side.mine = make_area(side.type, end, trial->own);
  side.expected = copy_of(&side.mine);
  side.before = copy_of(&side.mine);
  return side;
}

static void free_side(Side* side) {
  if (side->is_made) MPI_Type_free(&side->type);
  free(side->block);
  free(side->at);
  free(side->ints);
  free(side->ats);
  free(side->mine.memory);
  free(side->expected.memory);
  free(side->before.memory);
}

static unsigned char* block_of(const Side* side, const Area* area, int block) {
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(side->type, &low, &extent);
  return area->start + side->at[block] * extent;
}

static size_t total_bytes(const Side* side) {
  const int last = side->blocks - 1;
  return sizeof(int) * (size_t)(side->ats[last] + side->ints[last]);
}

/* The ints of a side, block after block. */
static int* packed(const Side* side) {
  int* result = malloc(total_bytes(side) + 1);
  for (int i = 0; i < side->blocks; ++i) {
    int position = 0;
    MPI_Pack(block_of(side, &side->before, i), side->block[i], side->type, result + side->ats[i],
             side->ints[i] * (int)sizeof(int), &position, MPI_COMM_SELF);
  }
  return result;
}

/* Writes the expected content of the side, from ints as above. */
static void expect_ints(const Side* side, const int* ints) {
  for (int i = 0; i < side->blocks; ++i) {
    int position = 0;
    MPI_Unpack(ints + side->ats[i], side->ints[i] * (int)sizeof(int), &position,
               block_of(side, &side->expected, i), side->block[i], side->type, MPI_COMM_SELF);
  }
}

static void judge(const Trial* trial, const Side* send, const Side* receive) {
  expect(same(&receive->mine, &receive->expected), "round %d: %s of %d, root %d of %d%s on rank %d",
         trial->round, names[trial->collective], trial->count, trial->root, trial->size,
         trial->in_place ? ", in place" : "", trial->rank);
  expect(send == NULL || same(&send->mine, &send->before), "round %d: %s changed what was sent",
         trial->round, names[trial->collective]);
}

#endif
