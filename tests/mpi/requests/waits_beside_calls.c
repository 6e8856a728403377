/* Each function that waits for messages, while a nonblocking collective is pending: the collective
 * goes on meanwhile, what is received and its status are right, and datatypes stay whole. */
#include "tests/mpi/program/check.h"

enum { kTag = 7, kInts = 6, kRounds = 3 };

static int rank, other;

struct message {
  int send[2 * kInts], receive[2 * kInts];
  MPI_Datatype sent, received;
  MPI_Status status;
};

/* Its arguments. */
#define SENT m->send, 1, m->sent, other, kTag
#define RECEIVED m->receive, 1, m->received, other, kTag
#define WORLD MPI_COMM_WORLD, &m->status

#define EXCHANGES(name, suffix)                                        \
  static void recv##name(struct message* m) {                          \
    MPI_Recv##suffix(RECEIVED, WORLD);                                 \
  }                                                                    \
  static void probe##name(struct message* m) {                         \
    MPI_Probe(other, kTag, WORLD);                                     \
    MPI_Recv##suffix(RECEIVED, WORLD);                                 \
  }                                                                    \
  static void mrecv##name(struct message* m) {                         \
    MPI_Message found;                                                 \
    MPI_Mprobe(other, kTag, MPI_COMM_WORLD, &found, &m->status);       \
    MPI_Mrecv##suffix(m->receive, 1, m->received, &found, &m->status); \
  }                                                                    \
  static void send##name(struct message* m) {                          \
    MPI_Send##suffix(SENT, MPI_COMM_WORLD);                            \
  }                                                                    \
  static void ssend##name(struct message* m) {                         \
    MPI_Ssend##suffix(SENT, MPI_COMM_WORLD);                           \
  }                                                                    \
  static void sendrecv##name(struct message* m) {                      \
    MPI_Sendrecv##suffix(SENT, RECEIVED, WORLD);                       \
  }                                                                    \
  static void replace##name(struct message* m) {                       \
    memcpy(m->receive, m->send, sizeof m->send);                       \
    MPI_Sendrecv_replace##suffix(RECEIVED, other, kTag, WORLD);        \
  }

enum part { kSends = 1, kReceives = 2 }; /* what a function does itself */

#define WAYS(name, suffix)                                                                     \
  {"MPI_Recv" #suffix, kReceives, recv##name},                                                 \
      {"MPI_Probe, MPI_Recv" #suffix, kReceives, probe##name},                                 \
      {"MPI_Mrecv" #suffix, kReceives, mrecv##name}, {"MPI_Send" #suffix, kSends, send##name}, \
      {"MPI_Ssend" #suffix, kSends, ssend##name},                                              \
      {"MPI_Sendrecv" #suffix, kSends | kReceives, sendrecv##name},                            \
      {"MPI_Sendrecv_replace" #suffix, kSends | kReceives, replace##name},

struct way {
  const char* name;
  int parts;
  void (*call)(struct message* m);
};

EXCHANGES(, )
#if MPI_VERSION >= 4
EXCHANGES(_large, _c)
#endif

static const struct way kWays[] = {WAYS(, )
#if MPI_VERSION >= 4
                                       WAYS(_large, _c)
#endif
};

/* Every other int; a type of its own each time. */
static MPI_Datatype gaps(void) {
  MPI_Datatype type;
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static int value(int of_rank, int round, int at) {
  return of_rank * 1000 + round * 100 + at;
}

static void judge(const struct way* way, int round, const struct message* m) {
  int wrong = 0, count = -1;
  for (int i = 0; i < 2 * kInts; i += 2) wrong += m->receive[i] != value(other, round, i);
  MPI_Get_count(&m->status, m->received, &count);
  expect(wrong == 0, "%s: %d of %d ints are wrong", way->name, wrong, kInts);
  expect(count == 1 && m->status.MPI_SOURCE == other && m->status.MPI_TAG == kTag,
         "%s: a status of %d elements from %d, tag %d", way->name, count, m->status.MPI_SOURCE,
         m->status.MPI_TAG);
}

/* Rank 1 takes part in the exchange when the collective has ended there, for which it needs
 * rank 0, which waits in the function. */
static void wait_beside_a_call(const struct way* way, int round) {
  int sum = 0;
  const int one = 1;
  MPI_Comm fresh;
  MPI_Request call, rest = MPI_REQUEST_NULL;
  struct message m = {.sent = gaps(), .received = gaps()};
  for (int i = 0; i < 2 * kInts; ++i) m.send[i] = value(rank, round, i);
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, fresh, &call);
  if (rank == 1) MPI_Wait(&call, MPI_STATUS_IGNORE);
  if (way->parts == kReceives) MPI_Isend(m.send, 1, m.sent, other, kTag, MPI_COMM_WORLD, &rest);
  if (way->parts == kSends) MPI_Irecv(m.receive, 1, m.received, other, kTag, MPI_COMM_WORLD, &rest);
  way->call(&m);
  MPI_Wait(&rest, way->parts == kSends ? &m.status : MPI_STATUS_IGNORE);
  judge(way, round, &m);
  MPI_Wait(&call, MPI_STATUS_IGNORE);
  expect(sum == 2, "%s: a sum of %d beside it", way->name, sum);
  MPI_Comm_free(&fresh);
  MPI_Type_free(&m.sent);
  MPI_Type_free(&m.received);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < sizeof kWays / sizeof kWays[0]; ++i)
      wait_beside_a_call(&kWays[i], round);
  }
  return finish();
}
