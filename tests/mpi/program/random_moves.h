/* Random collectives that move data, each compared with the host's own. */
#ifndef WEFT_TESTS_MPI_RANDOM_MOVES_H
#define WEFT_TESTS_MPI_RANDOM_MOVES_H

#include "tests/mpi/program/random_sides.h"

static void bcast(const Trial* trial) {
  Side side = make_side(trial, 1, &trial->count, 0);
  int* ints = packed(&side);
  HOST(MPI_Bcast)(ints, side.ints[0], MPI_INT, trial->root, trial->comm);
  expect_ints(&side, ints);
  MPI_Bcast(side.mine.start, side.each, side.type, trial->root, trial->comm);
  judge(trial, NULL, &side);
  free(ints);
  free_side(&side);
}

/* Counts of all ranks: different where the call is irregular, else equal. */
static const int* counts_of(const Trial* trial, int irregular) {
  for (int i = 0; i < trial->size && !irregular; ++i) trial->counts[i] = trial->count;
  return trial->counts;
}

static void scatter(const Trial* trial, int irregular) {
  const int* counts = counts_of(trial, irregular);
  const int is_root = trial->rank == trial->root;
  Side all = make_side(trial, trial->size, counts, irregular ? below(trial->own, 3) : 0);
  Side own = make_side(trial, 1, &counts[trial->rank], 0);
  const int in_place = is_root && trial->in_place;
  int *from_ints = packed(&all), *to_ints = packed(&own);
  HOST(MPI_Scatterv)
  (from_ints, all.ints, all.ats, MPI_INT, to_ints, own.ints[0], MPI_INT, trial->root, trial->comm);
  if (!in_place) expect_ints(&own, to_ints);
  void* from = is_root ? all.mine.start : kNowhere;
  void* to = in_place ? MPI_IN_PLACE : own.mine.start;
  const MPI_Datatype type = is_root ? all.type : MPI_DATATYPE_NULL;
  const MPI_Datatype own_type = in_place ? MPI_DATATYPE_NULL : own.type;
  const int count = in_place ? -1 : own.each;
  if (irregular) {
    MPI_Scatterv(from, is_root ? all.block : NULL, is_root ? all.at : NULL, type, to, count,
                 own_type, trial->root, trial->comm);
  } else {
    MPI_Scatter(from, is_root ? all.each : -1, type, to, count, own_type, trial->root, trial->comm);
  }
  judge(trial, &all, &own);
  free(from_ints);
  free(to_ints);
  free_side(&all);
  free_side(&own);
}

/* The block that this rank sends: in place, it lies among all blocks. */
static int* sent_ints(const Trial* trial, const Side* all, const Side* own, int in_place) {
  int* ints = packed(own);
  if (!in_place) return ints;
  int* of_all = packed(all);
  memcpy(ints, of_all + all->ats[trial->rank], total_bytes(own));
  free(of_all);
  return ints;
}

static void gather(const Trial* trial, int irregular) {
  const int* counts = counts_of(trial, irregular);
  const int is_root = trial->rank == trial->root;
  Side all = make_side(trial, trial->size, counts, irregular ? below(trial->own, 3) : 0);
  Side own = make_side(trial, 1, &counts[trial->rank], 0);
  const int in_place = is_root && trial->in_place;
  int *from_ints = sent_ints(trial, &all, &own, in_place), *to_ints = packed(&all);
  HOST(MPI_Gatherv)
  (from_ints, own.ints[0], MPI_INT, to_ints, all.ints, all.ats, MPI_INT, trial->root, trial->comm);
  if (is_root) expect_ints(&all, to_ints);
  const void* from = in_place ? MPI_IN_PLACE : own.mine.start;
  void* to = is_root ? all.mine.start : kNowhere;
  const MPI_Datatype type = is_root ? all.type : MPI_DATATYPE_NULL;
  const MPI_Datatype own_type = in_place ? MPI_DATATYPE_NULL : own.type;
  const int count = in_place ? -1 : own.each;
  if (irregular) {
    MPI_Gatherv(from, count, own_type, to, is_root ? all.block : NULL, is_root ? all.at : NULL,
                type, trial->root, trial->comm);
  } else {
    MPI_Gather(from, count, own_type, to, is_root ? all.each : -1, type, trial->root, trial->comm);
  }
  judge(trial, &own, &all);
  free(from_ints);
  free(to_ints);
  free_side(&all);
  free_side(&own);
}

static void allgather(const Trial* trial, int irregular) {
  const int* counts = counts_of(trial, irregular);
  Side all = make_side(trial, trial->size, counts, irregular ? below(trial->own, 3) : 0);
  Side own = make_side(trial, 1, &counts[trial->rank], 0);
  int *from_ints = sent_ints(trial, &all, &own, trial->in_place), *to_ints = packed(&all);
  HOST(MPI_Allgatherv)
  (from_ints, own.ints[0], MPI_INT, to_ints, all.ints, all.ats, MPI_INT, trial->comm);
  expect_ints(&all, to_ints);
  const void* from = trial->in_place ? MPI_IN_PLACE : own.mine.start;
  const int count = trial->in_place ? -1 : own.each;
  const MPI_Datatype own_type = trial->in_place ? MPI_DATATYPE_NULL : own.type;
  if (irregular) {
    MPI_Allgatherv(from, count, own_type, all.mine.start, all.block, all.at, all.type, trial->comm);
  } else {
    MPI_Allgather(from, count, own_type, all.mine.start, all.each, all.type, trial->comm);
  }
  judge(trial, &own, &all);
  free(from_ints);
  free(to_ints);
  free_side(&all);
  free_side(&own);
}

static void alltoall(const Trial* trial) {
  const int* counts = counts_of(trial, 0);
  Side send = make_side(trial, trial->size, counts, 0);
  Side receive = make_side(trial, trial->size, counts, 0);
  int *from_ints = packed(trial->in_place ? &receive : &send), *to_ints = packed(&receive);
  HOST(MPI_Alltoall)(from_ints, send.ints[0], MPI_INT, to_ints, send.ints[0], MPI_INT, trial->comm);
  expect_ints(&receive, to_ints);
  const void* from = trial->in_place ? MPI_IN_PLACE : send.mine.start;
  const int count = trial->in_place ? -1 : send.each;
  const MPI_Datatype type = trial->in_place ? MPI_DATATYPE_NULL : send.type;
  MPI_Alltoall(from, count, type, receive.mine.start, receive.each, receive.type, trial->comm);
  judge(trial, &send, &receive);
  free(from_ints);
  free(to_ints);
  free_side(&send);
  free_side(&receive);
}

#endif
