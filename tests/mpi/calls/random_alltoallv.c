/* Random MPI_Alltoallv and MPI_Alltoallw: any datatypes, many empty blocks and few large ones, in
 * any order and with gaps, in place or not, on any communicator. Compared with the host's sends and
 * receives byte by byte, gaps and guards included. */
#include "tests/mpi/program/random_calls.h"

enum { kMostRanks = 16 };

/* The send or receive arguments of a call on this rank. */
typedef struct {
  MPI_Datatype types[kMostRanks];
  int counts[kMostRanks];
  int elements[kMostRanks]; /* displacements of MPI_Alltoallv, of its only type */
  int bytes[kMostRanks];    /* of MPI_Alltoallw */
  Area area;
} Side;

static int round_up(MPI_Aint bytes) {
  return (int)((bytes + 7) / 8 * 8);
}

/* Lays out blocks of `sixes[i]` elements of six ints: all of one type, or each of its own type. */
static void lay_out(Side* side, const int* sixes, int size, int one_type, uint64_t* random) {
  int order[kMostRanks];
  for (int i = 0; i < size; ++i) {
    const int j = below(random, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  const int plain = below(random, 3) == 0;
  const int kind = below(random, kKinds);
  int at = 0, element = 0;
  for (int k = 0; k < size; ++k) {
    const int i = order[k];
    const int is_plain = one_type ? plain : below(random, 3) == 0;
    side->types[i] = is_plain ? MPI_INT : make_type(one_type ? kind : below(random, kKinds));
    side->counts[i] = is_plain ? sixes[i] * kInts : sixes[i];
    side->elements[i] = element;
    element += side->counts[i] + below(random, 3);
    MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
    MPI_Type_get_extent(side->types[i], &low, &extent);
    MPI_Type_get_true_extent(side->types[i], &true_low, &true_extent);
    const MPI_Aint before = true_low < 0 ? -true_low : 0;
    side->bytes[i] = at + round_up(before);
    const MPI_Aint last = side->counts[i] > 0 ? (side->counts[i] - 1) * extent : 0;
    at = side->bytes[i] + round_up(last + true_low + true_extent) + 8 * below(random, 3);
    if (one_type) side->bytes[i] = (int)(side->elements[i] * extent);
  }
  side->area =
      one_type ? make_area(side->types[0], element, random) : make_area(MPI_BYTE, at, random);
}

static void release(Side* side, int size) {
  for (int i = 0; i < size; ++i) {
    if (side->types[i] != MPI_INT) MPI_Type_free(&side->types[i]);
  }
  free(side->area.memory);
}

static void reference(const Side* send, const unsigned char* from, const Side* receive,
                      unsigned char* to, int size, MPI_Comm comm) {
  MPI_Request requests[2 * kMostRanks];
  for (int i = 0; i < size; ++i) {
    MPI_Irecv(to + receive->bytes[i], receive->counts[i], receive->types[i], i, 77, comm,
              &requests[i]);
  }
  for (int i = 0; i < size; ++i) {
    MPI_Isend(from + send->bytes[i], send->counts[i], send->types[i], i, 77, comm,
              &requests[size + i]);
  }
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
}

static void call(const Side* send, Side* receive, int v, int in_place, MPI_Comm comm) {
  const void* from = in_place ? MPI_IN_PLACE : send->area.start;
  /* In place the send arguments are ignored. */
  const int* counts = in_place ? NULL : send->counts;
  if (v) {
    MPI_Alltoallv(from, counts, in_place ? NULL : send->elements,
                  in_place ? MPI_DATATYPE_NULL : send->types[0], receive->area.start,
                  receive->counts, receive->elements, receive->types[0], comm);
  } else {
    MPI_Alltoallw(from, counts, in_place ? NULL : send->bytes, in_place ? NULL : send->types,
                  receive->area.start, receive->counts, receive->bytes, receive->types, comm);
  }
}

static int size_of_block(uint64_t* random) {
  const int kind = below(random, 10);
  return kind < 4 ? 0 : kind < 9 ? below(random, 12) : below(random, 1500);
}

static void one_call(MPI_Comm comm, uint64_t* shared, uint64_t* own, int round) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  /* Communicators that are split have other members here and there: their numbers follow from what
     all share, whoever they are. */
  uint64_t random = next_random(shared);
  /* On a communicator of one rank Open MPI 4.1 takes MPI_Alltoallw's displacements, which are
     bytes, for elements. */
  const int v = below(shared, 2) || size == 1;
  const int in_place = below(shared, 3) == 0, skewed = below(shared, 5) == 0;
  static int sizes[kMostRanks][kMostRanks];
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      sizes[from][to] = size_of_block(&random);
      if (skewed && from != size - 1) sizes[from][to] = 0;
    }
  }
  int sent[kMostRanks], received[kMostRanks];
  for (int i = 0; i < size; ++i) {
    /* In place both directions of a pair have equal counts. */
    const int low = rank < i ? rank : i, high = rank < i ? i : rank;
    sent[i] = in_place ? sizes[low][high] : sizes[rank][i];
    received[i] = in_place ? sent[i] : sizes[i][rank];
  }
  Side send, receive;
  lay_out(&receive, received, size, v, own);
  if (!in_place) lay_out(&send, sent, size, v, own);
  Area expected = copy_of(&receive.area);
  const Area before = in_place ? copy_of(&receive.area) : copy_of(&send.area);
  reference(in_place ? &receive : &send, before.start, &receive, expected.start, size, comm);
  call(&send, &receive, v, in_place, comm);
  expect(same(&receive.area, &expected), "round %d: alltoall%c, %d ranks%s%s", round, v ? 'v' : 'w',
         size, in_place ? ", in place" : "", skewed ? ", skewed" : "");
  if (!in_place) {
    expect(same(&send.area, &before), "round %d: the send buffer changed", round);
    release(&send, size);
  }
  release(&receive, size);
  free(expected.memory);
  free(before.memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t own = shared * 1000 + (uint64_t)rank;
  MPI_Comm comms[kComms];
  make_comms(comms);
  for (int round = 0; round < rounds; ++round) {
    const int which = below(&shared, kComms + 1);
    one_call(which == kComms ? MPI_COMM_WORLD : comms[which], &shared, &own, round);
  }
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
