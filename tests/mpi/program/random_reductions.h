/* Random reductions, each compared with the host's own. */
#ifndef WEFT_TESTS_MPI_RANDOM_REDUCTIONS_H
#define WEFT_TESTS_MPI_RANDOM_REDUCTIONS_H

#include "tests/mpi/program/operations.h"
#include "tests/mpi/program/random_sides.h"

/* One reduction, by the host's function or by the one that programs call. */
static void reduce(const Trial* trial, int by_host, const void* from, void* to, MPI_Datatype type,
                   MPI_Op op) {
  const int count = trial->count;
  switch (trial->collective) {
#define EITHER(name, ...) \
  if (by_host) HOST(name) \
  (__VA_ARGS__);          \
  else name(__VA_ARGS__); \
  break
    case kReduce:
      EITHER(MPI_Reduce, from, to, count, type, op, trial->root, trial->comm);
    case kAllreduce:
      EITHER(MPI_Allreduce, from, to, count, type, op, trial->comm);
    case kScan:
      EITHER(MPI_Scan, from, to, count, type, op, trial->comm);
    case kExscan:
      EITHER(MPI_Exscan, from, to, count, type, op, trial->comm);
    case kReduceBlock:
      EITHER(MPI_Reduce_scatter_block, from, to, count, type, op, trial->comm);
    default:
      EITHER(MPI_Reduce_scatter, from, to, trial->counts, type, op, trial->comm);
#undef EITHER
  }
}

/* The arguments of a reduction. */
typedef struct {
  const Element* element; /* NULL: six ints and a user-defined operation */
  MPI_Datatype type;
  MPI_Op op;
  const char* name;
} Operation;

static void put(const Operation* with, int count, unsigned char* to, const Trial* trial) {
  if (with->element != NULL) {
    put_elements(with->element, with->op, count, to, trial->own);
    return;
  }
  int* ints = malloc((size_t)count * kInts * sizeof(int) + 1);
  for (int i = 0; i < count * kInts; ++i) ints[i] = below(trial->own, kPrime);
  write_ints(ints, count, with->type, to);
  free(ints);
}

/* The host's result, written to `to`. Where layouts differ between ranks, it is called with plain
 * ints. */
static void reduce_by_host(const Trial* trial, const Operation* with, const void* from, void* to,
                           int total, int results) {
  if (with->element != NULL) {
    reduce(trial, 1, from, to, with->type, with->op);
    return;
  }
  int* ints = malloc((size_t)total * kInts * sizeof(int) + 1);
  int* reduced = malloc((size_t)total * kInts * sizeof(int) + 1);
  MPI_Datatype plain;
  MPI_Type_contiguous(kInts, MPI_INT, &plain);
  MPI_Type_commit(&plain);
  expected_type = plain;
  read_ints(from, total, with->type, ints);
  if (results > 0) read_ints(to, results, with->type, reduced);
  reduce(trial, 1, ints, reduced, plain, with->op);
  if (results > 0) write_ints(reduced, results, with->type, to);
  MPI_Type_free(&plain);
  free(ints);
  free(reduced);
}

static void reduction(const Trial* trial, const Operation* with) {
  int total = trial->count, results = trial->count;
  if (trial->collective == kReduceBlock) total = trial->count * trial->size;
  if (trial->collective == kReduceScatter) {
    results = trial->counts[trial->rank];
    for (int i = total = 0; i < trial->size; ++i) total += trial->counts[i];
  }
  const int receives = trial->collective != kReduce || trial->rank == trial->root;
  if (!receives) results = 0;
  const int in_place = trial->in_place && receives;
  Area send = make_area(with->type, total, trial->own);
  Area mine = make_area(with->type, in_place ? total : results, trial->own);
  put(with, total, send.start, trial);
  put(with, in_place ? total : results, mine.start, trial);
  Area expected = copy_of(&mine), before = copy_of(&send);
  reduce_by_host(trial, with, in_place ? mine.start : send.start,
                 receives ? expected.start : kNowhere, total, results);
  expected_type = with->type;
  reduce(trial, 0, in_place ? MPI_IN_PLACE : send.start, receives ? mine.start : kNowhere,
         with->type, with->op);
  /* In place, the buffer of a reduce-scatter behind the result is undefined. */
  if (in_place && total > results) {
    MPI_Aint low = 0, extent = 0;
    MPI_Type_get_extent(with->type, &low, &extent);
    unsigned char* behind = mine.start + results * extent - (low < 0 ? -low : 0);
    const MPI_Aint end = (total - results + 2) * extent;
    for (MPI_Aint i = 0; i < end; ++i) {
      if (behind + i >= mine.memory + mine.bytes - kGuard) break;
      expected.memory[behind + i - mine.memory] = behind[i];
    }
  }
  if (with->element != NULL) {
    settle(with->element, results, mine.start);
    settle(with->element, results, expected.start);
  }
  expect(same(&mine, &expected), "round %d: %s of %d by %s, root %d of %d%s on rank %d",
         trial->round, names[trial->collective], trial->count, with->name, trial->root, trial->size,
         in_place ? ", in place" : "", trial->rank);
  expect(same(&send, &before), "round %d: %s changed what was sent", trial->round,
         names[trial->collective]);
  free(send.memory);
  free(mine.memory);
  free(expected.memory);
  free(before.memory);
}

static void predefined_reduction(const Trial* trial) {
  int types = 0, ops = 0;
  const Element* element = elements(&types);
  const Named* op = predefined(&ops);
  do {
    element = elements(&types) + below(trial->shared, types);
    op = predefined(&ops) + below(trial->shared, ops);
  } while (!fit(op->op, element->nature));
  char name[64];
  snprintf(name, sizeof name, "%s, %s", op->name, element->name);
  const Operation with = {element, element->type, op->op, name};
  reduction(trial, &with);
}

static void own_reduction(const Trial* trial) {
  static const struct {
    MPI_User_function* function;
    int commutes, plain;
    const char* name;
  } all[] = {{chain, 0, 0, "chain"}, {chain_plain, 0, 1, "plain chain"}, {larger, 1, 0, "larger"}};
  const int which = below(trial->shared, 3);
  Operation with = {NULL, MPI_DATATYPE_NULL, MPI_OP_NULL, all[which].name};
  /* Layouts differ between ranks; the ints in them are the shared data. */
  const int kind = below(trial->alike ? trial->shared : trial->own, kKinds);
  with.type = make_type(all[which].plain ? 0 : kind);
  MPI_Op_create(all[which].function, all[which].commutes, &with.op);
  reduction(trial, &with);
  MPI_Op_free(&with.op);
  MPI_Type_free(&with.type);
}

/* Sums of floating point are rounded and depend on the order: compared with the host's by a
 * tolerance, and between ranks exactly. */
static void rough_allreduce(const Trial* trial) {
  const int count = trial->count;
  double *send = calloc((size_t)count + 1, sizeof *send), *mine = calloc((size_t)count + 1, 8);
  double *expected = calloc((size_t)count + 1, 8), *first = calloc((size_t)count + 1, 8);
  int far = 0;
  for (int i = 0; i < count; ++i) send[i] = (double)next_random(trial->own) / 1e15 - 9e3;
  HOST(MPI_Allreduce)(send, expected, count, MPI_DOUBLE, MPI_SUM, trial->comm);
  MPI_Allreduce(send, mine, count, MPI_DOUBLE, MPI_SUM, trial->comm);
  memcpy(first, mine, (size_t)count * sizeof *first);
  HOST(MPI_Bcast)(first, count, MPI_DOUBLE, 0, trial->comm);
  for (int i = 0; i < count; ++i) {
    const double off = mine[i] - expected[i];
    far += off > 1e-6 || off < -1e-6;
  }
  expect(far == 0, "round %d: %d sums of %d are far from the host's", trial->round, far, count);
  expect(memcmp(first, mine, (size_t)count * sizeof *first) == 0,
         "round %d: sums differ between ranks", trial->round);
  free(send);
  free(mine);
  free(expected);
  free(first);
}

#endif
