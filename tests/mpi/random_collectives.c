/* Random collectives: any of them, any datatypes, operations, roots and communicators, in place or
 * not, compared with what the host MPI itself makes of the same call, byte by byte, gaps and guards
 * included. Where ranks may describe the same data differently, the host is given it as plain ints:
 * it splits some calls by each rank's own datatype, and hangs.
 *
 *   random_collectives [ROUNDS [SEED [alike]]]
 *
 * "alike" has ranks describe the same data by the same datatypes, as the hosts can take it. */
#include "host.h"
#include "operations.h"

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

/* What all ranks share of a call, and the two sources of chance: all ranks' and this rank's. */
typedef struct {
  int collective, round, root, count, in_place;
  int* counts; /* of each rank, in irregular calls */
  MPI_Comm comm;
  int rank, size;
  uint64_t *shared, *own;
  int alike; /* ranks describe the same data by the same datatype */
} Trial;

/* What only the root's arguments say may be anything elsewhere. */
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

/* A side of blocks of counts[i] times six ints; with holes and in any order when they are to lie
 * anywhere. */
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

/* What the side is expected to hold, from ints like these. */
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

/* Counts of all ranks when the call is irregular, the same count for all otherwise. */
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

/* The own block as it is sent: in place, it lies among all. */
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

/* One reduction, by the host or by whoever stands before it. */
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

/* What a reduction is done with. */
typedef struct {
  const Element* element; /* NULL: six ints and an operation of the program's */
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

/* What the host makes of it, brought to `to`. Ints that ranks lay out differently it gets plain. */
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
  /* What a reduce-scatter in place leaves behind its result is nobody's business. */
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
  /* Layouts are each rank's own; the ints that they hold are what ranks share. */
  const int kind = below(trial->alike ? trial->shared : trial->own, kKinds);
  with.type = make_type(all[which].plain ? 0 : kind);
  MPI_Op_create(all[which].function, all[which].commutes, &with.op);
  reduction(trial, &with);
  MPI_Op_free(&with.op);
  MPI_Type_free(&with.type);
}

/* Real numbers round, so the order shows: the host's sum is near, and all ranks have the very
 * same. */
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
      /* A call of one rank is the host's, and MPICH's is wrong where layouts differ. */
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
