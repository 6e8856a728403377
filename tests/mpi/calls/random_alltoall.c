/* Random alltoalls: any datatype on any rank, any communicator, in place or not, compared with the
 * host's sends and receives byte by byte, gaps and guards included. */
#include "tests/mpi/program/random_calls.h"

typedef struct {
  int count, in_place, send_kind, receive_kind, send_plain, receive_plain;
} Choice;

/* Elements of a type of six ints, or the same number of plain ints. */
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
    /* Arguments that all ranks share come from a common generator, others from a rank's own. */
    const int which = below(&shared, kComms + 1);
    Choice choice;
    choice.count = counts[below(&shared, (int)(sizeof counts / sizeof *counts))];
    if (below(&shared, 12) == 0) choice.count = 5000 + below(&shared, 5000);
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
  /* Two communicators are left to MPI_Finalize. */
  for (int i = 2; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
