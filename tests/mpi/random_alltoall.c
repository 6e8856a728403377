/* Random alltoalls: any datatype on any rank, any communicator, in place or not, compared with the
 * host's sends and receives byte by byte, gaps and guards included. */
#include "check.h"

enum { kGuard = 64, kInts = 6, kKinds = 11, kComms = 7 };

/* Datatypes of six ints each, so that any may meet any. */
static MPI_Datatype make_type(int kind) {
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
    case 3: { /* no gaps, size equals extent, and yet not in order */
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
    default: /* elements overlap nothing, but are told in less than their span */
      MPI_Type_vector(kInts, 1, 8, MPI_INT, &inner);
      MPI_Type_create_resized(inner, 0, integer * kInts * 8, &type);
      break;
  }
  if (inner != MPI_DATATYPE_NULL) MPI_Type_free(&inner);
  MPI_Type_commit(&type);
  return type;
}

/* Memory for `elements` elements of a type, wherever its bytes lie around the buffer's start. */
typedef struct {
  unsigned char* memory;
  size_t bytes;
  unsigned char* start;
} Area;

static Area make_area(MPI_Datatype type, int elements, uint64_t* random) {
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

static Area copy_of(const Area* area) {
  Area copy = *area;
  copy.memory = malloc(area->bytes);
  copy.start = copy.memory + (area->start - area->memory);
  memcpy(copy.memory, area->memory, area->bytes);
  return copy;
}

static int same(const Area* a, const Area* b) {
  return memcmp(a->memory, b->memory, a->bytes) == 0;
}

typedef struct {
  int count, in_place, send_kind, receive_kind, send_plain, receive_plain;
} Choice;

/* A count of elements of six ints, or as many ints one by one. */
static void pick(int plain, int kind, int count, MPI_Datatype* type, int* types_count) {
  *type = plain ? MPI_INT : make_type(kind);
  *types_count = plain ? count * kInts : count;
}

static void one_call(const Choice* choice, MPI_Comm comm, uint64_t* random, int round) {
  int size = 0, send_count = 0, receive_count = 0;
  MPI_Datatype send_type, receive_type;
  MPI_Comm_size(comm, &size);
  pick(choice->send_plain, choice->send_kind, choice->count, &send_type, &send_count);
  pick(choice->receive_plain, choice->receive_kind, choice->count, &receive_type, &receive_count);
  Area receive = make_area(receive_type, size * receive_count, random);
  Area expected = copy_of(&receive);
  Area send =
      choice->in_place ? copy_of(&receive) : make_area(send_type, size * send_count, random);
  Area untouched = copy_of(&send);

  if (choice->in_place) {
    reference_alltoall(send.start, receive_count, receive_type, expected.start, receive_count,
                       receive_type, comm);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive.start, receive_count, receive_type,
                 comm);
  } else {
    reference_alltoall(send.start, send_count, send_type, expected.start, receive_count,
                       receive_type, comm);
    MPI_Alltoall(send.start, send_count, send_type, receive.start, receive_count, receive_type,
                 comm);
  }
  expect(same(&receive, &expected), "round %d: count %d, kinds %d%s to %d%s, %d ranks%s", round,
         choice->count, choice->send_kind, choice->send_plain ? " (ints)" : "",
         choice->receive_kind, choice->receive_plain ? " (ints)" : "", size,
         choice->in_place ? ", in place" : "");
  expect(same(&send, &untouched), "round %d: the send buffer changed", round);

  if (!choice->send_plain) MPI_Type_free(&send_type);
  if (!choice->receive_plain) MPI_Type_free(&receive_type);
  free(receive.memory);
  free(expected.memory);
  free(send.memory);
  free(untouched.memory);
}

static void make_comms(MPI_Comm comms[kComms]) {
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

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 1, 2, 3, 7, 20, 64, 300};
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t own = shared * 1000 + (uint64_t)rank;
  MPI_Comm comms[kComms];
  make_comms(comms);
  for (int round = 0; round < rounds; ++round) {
    /* What all ranks share comes from one generator, what is local to a rank from its own. */
    const int which = below(&shared, kComms + 1);
    Choice choice;
    choice.count = counts[below(&shared, (int)(sizeof counts / sizeof *counts))];
    if (below(&shared, 40) == 0) choice.count = 5000 + below(&shared, 5000);
    choice.in_place = below(&shared, 4) == 0;
    const int again = below(&shared, 20) == 0;
    choice.send_kind = below(&own, kKinds);
    choice.receive_kind = below(&own, kKinds);
    choice.send_plain = below(&own, 3) == 0;
    choice.receive_plain = below(&own, 3) == 0;
    one_call(&choice, which == kComms ? MPI_COMM_WORLD : comms[which], &own, round);
    if (again && which != kComms) {
      MPI_Comm fresh;
      MPI_Comm_dup(comms[which], &fresh);
      MPI_Comm_free(&comms[which]);
      comms[which] = fresh;
    }
  }
  /* Two are left to MPI_Finalize. */
  for (int i = 2; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
