/* Collectives drawn from a seed, with answers that each rank computes. All ranks draw the same.
 * Whoever includes this says what is done with the code of a call and with a wrong answer. */
#ifndef WEFT_TESTS_CHAOS_COLLECTIVES_H
#define WEFT_TESTS_CHAOS_COLLECTIVES_H

#include <mpi.h>
#include <stdint.h>

enum { kMost = 16384 }; /* words of a call on 8 ranks, in each of its two buffers, at most */

static void check(int code);
static void expect(const char* what, int call, int is_right);

static uint64_t state;

static int below(int bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)bound);
}

/* The word that rank `from` has for rank `to` at place `i` of call `call`. */
static int64_t word(int call, int from, int to, int i) {
  return (int64_t)call * 1000003 + from * 10007 + to * 101 + i;
}

static void one_call(int call, MPI_Comm comm, int64_t* in, int64_t* out) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  static const int counts[] = {1, 1, 2, 8, 64, 512, 2048};
  const int kind = below(9), count = counts[below(7)], root = below(kMost) % size;
  int right = 1;
  switch (kind) {
    case 0:
      check(MPI_Barrier(comm));
      return;
    case 1:
      for (int i = 0; i < count; ++i) in[i] = word(call, root, 0, i) * (rank == root);
      check(MPI_Bcast(in, count, MPI_INT64_T, root, comm));
      for (int i = 0; i < count; ++i) right &= in[i] == word(call, root, 0, i);
      return expect("broadcast", call, right);
    case 2:
    case 3: {
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(kind == 2 ? MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, comm)
                      : MPI_Reduce(in, out, count, MPI_INT64_T, MPI_SUM, root, comm));
      for (int i = 0; (kind == 2 || rank == root) && i < count; ++i) {
        right &= out[i] == size * word(call, 0, 0, i) + (int64_t)10007 * size * (size - 1) / 2;
      }
      return expect(kind == 2 ? "allreduce" : "reduce", call, right);
    }
    case 4:
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(MPI_Allgather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm));
      for (int i = 0; i < count * size; ++i) right &= out[i] == word(call, i / count, 0, i % count);
      return expect("allgather", call, right);
    case 5:
      for (int i = 0; i < count * size; ++i) in[i] = word(call, rank, i / count, i % count);
      check(MPI_Alltoall(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm));
      for (int i = 0; i < count * size; ++i)
        right &= out[i] == word(call, i / count, rank, i % count);
      return expect("alltoall", call, right);
    case 6: {
      int sent[64], from[64], at_sent[64], at_from[64], all_sent = 0, all_from = 0;
      for (int peer = 0; peer < size; ++peer) {
        sent[peer] = (rank + peer + call) % 3 == 0 ? 0 : count;
        from[peer] = sent[peer]; /* the rule is symmetric */
        at_sent[peer] = all_sent, at_from[peer] = all_from;
        for (int i = 0; i < sent[peer]; ++i) in[all_sent + i] = word(call, rank, peer, i);
        all_sent += sent[peer], all_from += from[peer];
      }
      check(MPI_Alltoallv(in, sent, at_sent, MPI_INT64_T, out, from, at_from, MPI_INT64_T, comm));
      for (int peer = 0; peer < size; ++peer) {
        for (int i = 0; i < from[peer]; ++i)
          right &= out[at_from[peer] + i] == word(call, peer, rank, i);
      }
      return expect("alltoallv", call, right);
    }
    case 7:
      for (int i = 0; i < count * size; ++i) in[i] = word(call, rank, i / count, i % count);
      check(MPI_Scatter(in, count, MPI_INT64_T, out, count, MPI_INT64_T, root, comm));
      for (int i = 0; i < count; ++i) right &= out[i] == word(call, root, rank, i);
      return expect("scatter", call, right);
    default:
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(MPI_Gather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, root, comm));
      for (int i = 0; rank == root && i < count * size; ++i)
        right &= out[i] == word(call, i / count, 0, i % count);
      return expect("gather", call, right);
  }
}

#endif
