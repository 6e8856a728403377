/* Helpers of the tests of random calls: datatypes, guarded memory, communicators. */
#ifndef WEFT_TESTS_MPI_RANDOM_CALLS_H
#define WEFT_TESTS_MPI_RANDOM_CALLS_H

#include "tests/mpi/program/check.h"

enum { kGuard = 64, kInts = 6, kKinds = 11, kComms = 7 };

/* Datatypes of six ints each, so that any two can be combined in a call. */
static inline MPI_Datatype make_type(int kind) {
  MPI_Datatype type = MPI_DATATYPE_NULL, inner = MPI_DATATYPE_NULL;
  const int integer = (int)sizeof(int);
  switch (kind) {
    case 0:
      MPI_Type_contiguous(kInts, MPI_INT, &type);
      break;
    case 1:
      MPI_Type_vector(3, 2, 4, MPI_INT, &type);
      break;
    case 2: {
      const int lengths[3] = {1, 3, 2}, at[3] = {-3, 0, 5};
      MPI_Type_indexed(3, lengths, at, MPI_INT, &type);
      break;
    }
    case 3: { /* no gaps, size equals extent, but out of order */
      const int lengths[3] = {2, 2, 2};
      const MPI_Aint at[3] = {4 * integer, 0, 2 * integer};
      MPI_Type_create_hindexed(3, lengths, at, MPI_INT, &type);
      break;
    }
    case 4: {
      const int lengths[2] = {4, 2};
      const MPI_Aint at[2] = {4, 40};
      const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
      MPI_Type_create_struct(2, lengths, at, types, &type);
      break;
    }
    case 5:
      MPI_Type_contiguous(kInts, MPI_INT, &inner);
      MPI_Type_dup(inner, &type);
      break;
    case 6:
      MPI_Type_contiguous(3, MPI_2INT, &type);
      break;
    case 7: {
      const int whole[2] = {4, 5}, part[2] = {2, 3}, start[2] = {1, 1};
      MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &type);
      break;
    }
    case 8: /* runs backwards */
      MPI_Type_create_hvector(3, 2, -4 * integer, MPI_INT, &type);
      break;
    case 9:
      MPI_Type_contiguous(kInts, MPI_INT, &inner);
      MPI_Type_create_resized(inner, -8, 48, &type);
      break;
    default: /* extent smaller than the span; elements interleave without overlap */
      MPI_Type_vector(kInts, 1, 8, MPI_INT, &inner);
      MPI_Type_create_resized(inner, 0, integer * kInts * 8, &type);
      break;
  }
  if (inner != MPI_DATATYPE_NULL) MPI_Type_free(&inner);
  MPI_Type_commit(&type);
  return type;
}

/* Memory for `elements` elements of a type, whose bytes may lie before and after the buffer's
 * address. */
typedef struct {
  unsigned char* memory;
  size_t bytes;
  unsigned char* start;
} Area;

static inline Area make_area(MPI_Datatype type, int elements, uint64_t* random) {
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_get_true_extent(type, &true_low, &true_extent);
  const MPI_Aint before = true_low < 0 ? -true_low : 0;
  const MPI_Aint last = elements > 0 ? (elements - 1) * extent : 0;
  const MPI_Aint end = last + true_low + true_extent;
  Area area;
  area.bytes = (size_t)(before + (end > 0 ? end : 0)) + 2 * kGuard;
  area.memory = malloc(area.bytes);
  area.start = area.memory + kGuard + before;
  for (size_t i = 0; i < area.bytes; ++i) area.memory[i] = (unsigned char)next_random(random);
  return area;
}

static inline Area copy_of(const Area* area) {
  Area copy = *area;
  copy.memory = malloc(area->bytes);
  copy.start = copy.memory + (area->start - area->memory);
  memcpy(copy.memory, area->memory, area->bytes);
  return copy;
}

static inline int same(const Area* a, const Area* b) {
  return memcmp(a->memory, b->memory, a->bytes) == 0;
}

static inline void make_comms(MPI_Comm comms[kComms]) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int columns = size % 4 == 0 ? 4 : size % 3 == 0 ? 3 : 2;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / columns, rank, &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % columns, rank, &comms[4]);
  MPI_Comm_dup(MPI_COMM_SELF, &comms[5]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 5 + 3) % size, &comms[6]);
}

#endif
