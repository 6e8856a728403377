/* Random collectives: any of them, any datatypes, operations, roots and communicators, in place or
 * not, compared with the host MPI's result of the same call, byte by byte, gaps and guards
 * included. Where ranks may describe the same data by different datatypes, the host is called with
 * plain ints: it splits some calls by each rank's own datatype, and would hang.
 *
 *   random_collectives [ROUNDS [SEED [alike]]]
 *
 * "alike" has ranks describe the same data by the same datatypes, which the hosts support. */
#include "tests/mpi/program/random_moves.h"
#include "tests/mpi/program/random_reductions.h"

static void one_call(const Trial* trial) {
  switch (trial->collective) {
    case kBcast:
      return bcast(trial);
    case kScatter:
    case kScatterv:
      return scatter(trial, trial->collective == kScatterv);
    case kGather:
    case kGatherv:
      return gather(trial, trial->collective == kGatherv);
    case kAllgather:
    case kAllgatherv:
      /* A call on one rank goes to the host, and MPICH's is wrong where layouts differ. */
      if (trial->size == 1) return;
      return allgather(trial, trial->collective == kAllgatherv);
    case kAlltoall:
      return alltoall(trial);
    default:
      break;
  }
  if (trial->collective == kAllreduce && below(trial->shared, 3) == 0) {
    rough_allreduce(trial);
  } else if (below(trial->shared, 3) == 0) {
    own_reduction(trial);
  } else {
    predefined_reduction(trial);
  }
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
    Trial trial;
    const int which = below(&shared, kComms + 3);
    trial.comm = which >= kComms ? MPI_COMM_WORLD : comms[which];
    MPI_Comm_rank(trial.comm, &trial.rank);
    MPI_Comm_size(trial.comm, &trial.size);
    trial.round = round;
    trial.alike = argc > 3;
    trial.shared = &shared;
    trial.own = &own;
    trial.collective = round % kCollectives;
    trial.count = counts[below(&shared, (int)(sizeof counts / sizeof *counts))];
    if (below(&shared, 40) == 0) trial.count = 5000 + below(&shared, 5000);
    trial.in_place = below(&shared, 3) == 0;
    /* Communicators differ in size between ranks: what is drawn from all ranks' chance may not. */
    const int number = (int)(next_random(&shared) >> 33);
    trial.root = number % trial.size;
    trial.counts = malloc(sizeof(int) * (size_t)trial.size);
    uint64_t irregular = next_random(&shared);
    for (int i = 0; i < trial.size; ++i) {
      const int part = below(&irregular, 4);
      trial.counts[i] = part == 0 ? 0 : below(&irregular, part == 1 ? 2 : trial.count + 1);
    }
    one_call(&trial);
    if (below(&shared, 10) == 0) MPI_Barrier(trial.comm);
    free(trial.counts);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 2; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
