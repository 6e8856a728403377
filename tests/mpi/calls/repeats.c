/* repeats ROUNDS SEED [SERIES]: the same calls several times, with these buffers and those and in
   place, on communicators and with datatypes that are freed and made anew in between, whose handles
   the MPI uses again for others. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/program/check.h"

enum { kMostInts = 48, kMostRanks = 16, kCalls = 17 };

static unsigned state;
static int choose(int below) {
  state = state * 1103515245u + 12345u;
  return (int)(state >> 16) % below;
}

static int buffers[4][kMostRanks * kMostInts];

static int value(int rank, int call, int at) {
  return rank * 1009 + call * 31 + at;
}

/* Not to be looked at, where the MPI itself does not. */
static MPI_Datatype no_type(void) {
#ifdef OPEN_MPI
  return (MPI_Datatype)16;
#else
  return MPI_DATATYPE_NULL;
#endif
}

/* `each` ints with as many of nothing: every second one, or all in a row; another one of the two
   for some calls. Valid until the next call with so many. */
static MPI_Datatype spread(int each, int number) {
  static MPI_Datatype types[kMostInts];
  static int were_rows[kMostInts];
  const int is_row = number / 11 % 2;
  if (types[each] != 0 && were_rows[each] == is_row) return types[each];
  if (types[each] != 0) MPI_Type_free(&types[each]);
  MPI_Datatype ints;
  MPI_Type_vector(each, 1, is_row ? 1 : 2, MPI_INT, &ints);
  MPI_Type_create_resized(ints, 0, (MPI_Aint)(2 * each * (int)sizeof(int)), &types[each]);
  MPI_Type_commit(&types[each]);
  MPI_Type_free(&ints);
  were_rows[each] = is_row;
  return types[each];
}

/* Each block of a datatype and in a place of its own; as many both ways, for calls in place. */
static void call_alltoallw(MPI_Comm comm, int number, int ints, int count, MPI_Datatype type,
                           int in_place, const int* in, int* out) {
  static int counts[kMostRanks], places[kMostRanks], sent_places[kMostRanks];
  static MPI_Datatype types[kMostRanks], sent_types[kMostRanks];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int each = ints / count, is_row = number / 11 % 2, turn = number / 9 % 2;
  for (int i = 0; i < size; ++i) {
    const int place = turn == 0 ? i : size - 1 - i;
    counts[i] = (rank + i + number / 3) % 3 * count / 2;
    sent_places[i] = place * ints * (int)sizeof(int);
    sent_types[i] = type;
    places[i] = 2 * sent_places[i];
    types[i] = (i + turn) % 2 == 0 ? type : spread(each, number);
  }
  /* In place they are sent as they are received: the own block, which none is sent, apart. */
  for (int i = 0; in_place && i < size; ++i) {
    for (int at = 0; at < counts[i] * each; ++at) {
      const int step = types[i] == type || is_row ? 1 : 2, gap = types[i] == type ? 0 : 2 * each;
      const int where = gap == 0 ? at : at / each * gap + at % each * step;
      out[places[i] / (int)sizeof(int) + where] = value(rank, number, i * ints + at);
    }
  }
  MPI_Alltoallw(in_place ? MPI_IN_PLACE : in, counts, sent_places, sent_types, out, counts, places,
                types, comm);
  for (int i = 0; i < size; ++i) {
    const int mine = in_place ? rank * ints : (turn == 0 ? rank : size - 1 - rank) * ints;
    for (int at = 0; at < counts[i] * each; ++at) {
      const int step = types[i] == type || is_row ? 1 : 2, gap = types[i] == type ? 0 : 2 * each;
      const int where = gap == 0 ? at : at / each * gap + at % each * step;
      const int got = out[places[i] / (int)sizeof(int) + where];
      expect(got == value(i, number, mine + at), "alltoallw: %d at %d from %d", got, at, i);
    }
  }
}

/* `ints` ints as `count` elements of `type` to or from each rank. */
static void call(MPI_Comm comm, int what, int number, int ints, int count, MPI_Datatype type,
                 int in_place) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int* in = buffers[number % 2];
  int* out = buffers[2 + number / 2 % 2];
  const int is_of_all =
      what == 0 || what == 6 || what == 7 || what == 9 || what == 14 || what == 15;
  const int all = is_of_all ? ints * size : ints;
  const int root = number % size;
  int sum = 0;
  for (int i = 0; i < size; ++i) sum += value(i, number, 0);
  for (int i = 0; i < all; ++i) in[i] = value(rank, number, i);
  const int is_gathered = what == 1 || what == 5;
  if (in_place) memcpy(is_gathered ? out + rank * ints : out, in, (size_t)all * sizeof *in);
  const void* given = in_place ? MPI_IN_PLACE : in;
  switch (what) {
    case 0:
      MPI_Alltoall(given, count, type, out, count, type, comm);
      for (int i = 0; i < all; ++i)
        expect(out[i] == value(i / ints, number, rank * ints + i % ints), "alltoall: %d at %d",
               out[i], i);
      break;
    case 1:
      MPI_Allgather(given, count, type, out, count, type, comm);
      for (int i = 0; i < all * size; ++i)
        expect(out[i] == value(i / ints, number, i % ints), "allgather: %d at %d", out[i], i);
      break;
    case 2:
      MPI_Allreduce(given, out, ints, MPI_INT, number % 3 == 0 ? MPI_MAX : MPI_SUM, comm);
      for (int i = 0; i < all; ++i)
        expect(out[i] == (number % 3 == 0 ? value(size - 1, number, i) : sum + size * i),
               "allreduce: %d at %d", out[i], i);
      break;
    case 3:
      MPI_Bcast(in, count, type, root, comm);
      for (int i = 0; i < all; ++i)
        expect(in[i] == value(root, number, i), "broadcast: %d at %d", in[i], i);
      break;
    case 4:
      MPI_Reduce(rank == root ? given : in, rank == root ? out : NULL, ints, MPI_INT, MPI_SUM, root,
                 comm);
      for (int i = 0; i < all && rank == root; ++i)
        expect(out[i] == sum + size * i, "reduce: %d at %d", out[i], i);
      break;
    case 5:
      /* What other ranks give for the root may be anything. */
      MPI_Gather(rank == root ? given : in, count, type, rank == root ? out : NULL, count,
                 rank == root ? type : no_type(), root, comm);
      for (int i = 0; i < all * size && rank == root; ++i)
        expect(out[i] == value(i / ints, number, i % ints), "gather: %d at %d", out[i], i);
      break;
    case 6:
      MPI_Scatter(rank == root ? in : NULL, count, type,
                  rank == root && in_place ? MPI_IN_PLACE : out, count, type, root, comm);
      for (int i = 0; i < ints && !(rank == root && in_place); ++i)
        expect(out[i] == value(root, number, rank * ints + i), "scatter: %d at %d", out[i], i);
      break;
    case 7:
      MPI_Reduce_scatter_block(given, out, ints, MPI_INT, MPI_SUM, comm);
      for (int i = 0; i < ints; ++i)
        expect(out[i] == sum + size * (rank * ints + i), "reduce_scatter: %d at %d", out[i], i);
      break;
    case 8:
      MPI_Scan(given, out, ints, MPI_INT, MPI_SUM, comm);
      for (int i = 0, below_me = rank * (rank + 1) / 2 * 1009; i < ints; ++i)
        expect(out[i] == below_me + (rank + 1) * (number * 31 + i), "scan: %d at %d", out[i], i);
      break;
    case 9: {
      /* As many both ways, for calls in place; other counts now and then in the same arrays. */
      static int counts[kMostRanks], places[kMostRanks];
      for (int i = 0; i < size; ++i) {
        counts[i] = (rank + i + number / 3) % 3 * count / 2;
        places[i] = (number / 9 % 2 == 0 ? i : size - 1 - i) * count;
      }
      for (int i = 0; i < all; ++i) in[i] = value(rank, number, i);
      if (in_place) memcpy(out, in, (size_t)all * sizeof *in);
      MPI_Alltoallv(given, counts, places, type, out, counts, places, type, comm);
      const int each = ints / count;
      for (int i = 0; i < size; ++i) {
        const int mine = (number / 9 % 2 == 0 ? rank : size - 1 - rank) * ints;
        for (int at = 0; at < counts[i] * each; ++at) {
          expect(out[places[i] * each + at] == value(i, number, mine + at), "alltoallv: %d at %d",
                 out[places[i] * each + at], at);
        }
      }
      break;
    }
    case 10: {
      /* Counts and places that are the same on all ranks; also without gaps, and with others. */
      static int counts[kMostRanks], places[kMostRanks];
      const int each = ints / count;
      for (int i = 0, end = 0; i < size; ++i) {
        counts[i] = (i + number / 3) % 3 * count / 2;
        places[i] = number / 9 % 2 == 0 ? end : (size - 1 - i) * count;
        end += counts[i];
      }
      if (in_place) {
        memcpy(out + places[rank] * each, in, (size_t)(counts[rank] * each) * sizeof *in);
      }
      MPI_Allgatherv(given, counts[rank], type, out, counts, places, type, comm);
      for (int i = 0; i < size; ++i) {
        for (int at = 0; at < counts[i] * each; ++at) {
          expect(out[places[i] * each + at] == value(i, number, at), "allgatherv: %d at %d",
                 out[places[i] * each + at], at);
        }
      }
      break;
    }
    case 11: {
      /* In place the arguments of what is sent are not looked at: then they are, of every second.
       */
      static MPI_Datatype seconds = MPI_DATATYPE_NULL;
      if (seconds == MPI_DATATYPE_NULL) {
        MPI_Type_vector(4, 1, 2, MPI_INT, &seconds);
        MPI_Type_commit(&seconds);
      }
      for (int i = 0; i < 8; ++i) in[i] = value(rank, number, i);
      for (int times = 0; times < 3; ++times) {
        for (int i = 0; i < 4; ++i) out[4 * rank + i] = value(rank, number, 2 * i);
        const void* sent = (number + times) % 2 == 0 ? MPI_IN_PLACE : in;
        MPI_Allgather(sent, 1, seconds, out, 4, MPI_INT, comm);
        for (int i = 0; i < 4 * size; ++i)
          expect(out[i] == value(i / 4, number, i % 4 * 2), "allgather of every second: %d at %d",
                 out[i], i);
      }
      break;
    }
    case 12: {
      /* Counts and places are the root's: other ranks give anything. */
      static int counts[kMostRanks], places[kMostRanks];
      const int each = ints / count, few = number / 12 % size; /* the same root again and again */
      for (int i = 0, end = 0; i < size; ++i) {
        counts[i] = (i + number / 3) % 3 * count / 2;
        places[i] = number / 9 % 2 == 0 ? end : (size - 1 - i) * count;
        end += counts[i];
      }
      const int mine = counts[rank];
      int* const any = rank == few ? counts : (int*)16;
      if (rank == few && in_place) {
        memcpy(out + places[rank] * each, in, (size_t)(mine * each) * sizeof *in);
      }
      MPI_Gatherv(rank == few ? given : in, mine, type, rank == few ? out : (void*)16, any,
                  rank == few ? places : any, rank == few ? type : MPI_DATATYPE_NULL, few, comm);
      for (int i = 0; i < size && rank == few; ++i) {
        for (int at = 0; at < counts[i] * each; ++at) {
          expect(out[places[i] * each + at] == value(i, number, at), "gatherv: %d at %d",
                 out[places[i] * each + at], at);
        }
      }
      break;
    }
    case 13: {
      static int counts[kMostRanks], places[kMostRanks];
      const int each = ints / count, few = number / 12 % size;
      for (int i = 0; i < size; ++i) {
        counts[i] = (i + number / 3) % 3 * count / 2;
        places[i] = (number / 9 % 2 == 0 ? i : size - 1 - i) * count;
      }
      for (int i = 0; i < ints * size; ++i) in[i] = value(few, number, i);
      int* const any = rank == few ? counts : (int*)16;
      MPI_Scatterv(rank == few ? in : (void*)16, any, rank == few ? places : any,
                   rank == few ? type : MPI_DATATYPE_NULL,
                   rank == few && in_place ? MPI_IN_PLACE : out, counts[rank], type, few, comm);
      for (int at = 0; at < counts[rank] * each && !(rank == few && in_place); ++at) {
        expect(out[at] == value(few, number, places[rank] * each + at), "scatterv: %d at %d",
               out[at], at);
      }
      break;
    }
    case 14: {
      /* Of some ranks nothing; now and then of another operation. */
      static int counts[kMostRanks];
      const MPI_Op op = number % 5 == 0 ? MPI_MAX : MPI_SUM;
      int begin = 0;
      for (int i = 0; i < size; ++i) {
        counts[i] = (i + number / 3) % 3 * ints / 2;
        if (i < rank) begin += counts[i];
      }
      MPI_Reduce_scatter(given, out, counts, MPI_INT, op, comm);
      for (int i = 0; i < counts[rank]; ++i) {
        const int at = begin + i;
        expect(out[i] == (op == MPI_MAX ? value(size - 1, number, at) : sum + size * at),
               "reduce_scatter of counts: %d at %d", out[i], i);
      }
      break;
    }
    case 15:
      if (2 * size <= kMostRanks)
        call_alltoallw(comm, number, ints, count, type, in_place, in, out);
      break;
    default:
      MPI_Barrier(comm);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  state = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  const int series = argc > 3 ? atoi(argv[3]) : 12;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int number = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    const int parts = 1 + choose(2);
    MPI_Comm_split(MPI_COMM_WORLD, rank % parts, parts == 1 ? -rank : rank, &comm);
    for (int types = 0; types < 3; ++types) {
      const int has_type = round % 2, each = 1 + choose(4);
      MPI_Datatype type = MPI_INT;
      if (has_type) MPI_Type_contiguous(each, MPI_INT, &type);
      if (has_type) MPI_Type_commit(&type);
      for (int calls = 0; calls < series; ++calls) {
        const int what = choose(kCalls), count = 4 * (1 + choose(3)), times = 1 + choose(6);
        const int typed = has_type && choose(2);
        for (int i = 0; i < times; ++i, ++number)
          call(comm, what, number, typed ? each * count : count, count, typed ? type : MPI_INT,
               choose(4) == 0);
      }
      if (has_type) MPI_Type_free(&type);
    }
    MPI_Comm_free(&comm);
  }
  return finish();
}
