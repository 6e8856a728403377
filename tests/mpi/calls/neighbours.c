/* Random neighbourhood collectives on random topologies, compared with sends and receives of the
 * host whose tags say which block goes where.
 *
 *     neighbours ROUNDS SEED [any|standard [CALLS]]
 *
 * With `standard` only topologies on which every MPI matches blocks as the standard says. CALLS on
 * each topology (a few, drawn). On some graphs there may be ranks without edges, which leave out
 * calls: MPI does not allow it, but PETSc does so. */
#include "tests/mpi/program/random_calls.h"

/* A graph that all ranks know. Block `send_block` of `from` is block `receive_block` of `to`. */
enum { kMostEdges = 256, kMostDegree = 64 };
typedef struct {
  int from, to, send_block, receive_block;
} Link;

typedef struct {
  MPI_Comm comm;
  int sends, receives; /* blocks of this rank */
  int links;
  Link link[kMostEdges];
} Topology;

static const char* kNames[3] = {"cartesian", "graph", "distributed graph"};

static void add_link(Topology* topology, Link link) {
  if (topology->links < kMostEdges) topology->link[topology->links++] = link;
}

/* The rank at `shift` from `rank` in one dimension, from its coordinates alone. */
static int shifted(const int* sizes, const int* periods, int dimensions, int rank, int dimension,
                   int shift) {
  int coordinates[3] = {0, 0, 0}, rest = rank, result = 0;
  for (int d = dimensions; d-- > 0;) {
    coordinates[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  coordinates[dimension] += shift;
  const int size = sizes[dimension];
  if (coordinates[dimension] < 0 || coordinates[dimension] >= size) {
    if (!periods[dimension]) return MPI_PROC_NULL;
    coordinates[dimension] = (coordinates[dimension] + size) % size;
  }
  for (int d = 0; d < dimensions; ++d) result = result * sizes[d] + coordinates[d];
  return result;
}

static void make_cartesian(Topology* topology, uint64_t* shared, int size, int standard) {
  int sizes[3] = {1, 1, 1}, periods[3] = {0, 0, 0};
  const int dimensions = 1 + below(shared, 3);
  int left = size;
  for (int d = 0; d < dimensions; ++d) {
    int part = 1 + below(shared, left);
    while (left % part != 0) --part;
    sizes[d] = d == dimensions - 1 ? left : part;
    left /= sizes[d];
    periods[d] = below(shared, 3) != 0 && (!standard || sizes[d] > 2);
  }
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &topology->comm);
  topology->sends = topology->receives = 2 * dimensions;
  for (int rank = 0; rank < size; ++rank) {
    for (int d = 0; d < dimensions; ++d) {
      const int behind = shifted(sizes, periods, dimensions, rank, d, -1);
      const int before = shifted(sizes, periods, dimensions, rank, d, 1);
      /* What goes backwards comes from the front. */
      if (behind != MPI_PROC_NULL) add_link(topology, (Link){rank, behind, 2 * d, 2 * d + 1});
      if (before != MPI_PROC_NULL) add_link(topology, (Link){rank, before, 2 * d + 1, 2 * d});
    }
  }
}

/* Any edges; of those from one rank to another the first is matched with the first. */
static void make_distributed(Topology* topology, uint64_t* shared, int rank, int size, int standard,
                             int may_be_lonely) {
  const int edges = below(shared, 3 * size + 1), weighted = below(shared, 2);
  int sources[kMostDegree], destinations[kMostDegree], weights[kMostDegree], ins[64] = {0},
                                                                             outs[64] = {0};
  for (int i = 0; i < kMostDegree; ++i) weights[i] = 1 + i % 3;
  char* joined = calloc((size_t)(size * size), 1);
  for (int i = 0; i < edges; ++i) {
    const int from = below(shared, size), to = below(shared, size);
    if (outs[from] == kMostDegree || ins[to] == kMostDegree) continue;
    if (standard && joined[from * size + to]) continue;
    joined[from * size + to] = 1;
    if (from == rank) destinations[outs[rank]] = to;
    if (to == rank) sources[ins[rank]] = from;
    add_link(topology, (Link){from, to, outs[from]++, ins[to]++});
  }
  for (int i = 0; i < size && !may_be_lonely; ++i) {
    if (outs[i] + ins[i] != 0) continue;
    if (i == rank) destinations[0] = sources[0] = rank;
    add_link(topology, (Link){i, i, outs[i]++, ins[i]++});
  }
  free(joined);
  topology->sends = outs[rank];
  topology->receives = ins[rank];
  MPI_Dist_graph_create_adjacent(
      MPI_COMM_WORLD, ins[rank], sources, weighted ? weights : MPI_UNWEIGHTED, outs[rank],
      destinations, weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &topology->comm);
}

/* Symmetric, as MPI asks of graphs that all ranks give. */
static void make_graph(Topology* topology, uint64_t* shared, int rank, int size, int standard,
                       int may_be_lonely) {
  static int neighbours[64][kMostDegree];
  int degrees[64] = {0}, index[64], flat[64 * kMostDegree], filled = 0;
  const int edges = below(shared, 2 * size + 1);
  char* joined = calloc((size_t)(size * size), 1);
  for (int i = 0; i < edges; ++i) {
    const int a = below(shared, size), b = below(shared, size);
    if (degrees[a] >= kMostDegree - 1 || degrees[b] >= kMostDegree - 1) continue;
    if (standard && joined[a * size + b]) continue;
    joined[a * size + b] = joined[b * size + a] = 1;
    /* An edge of a rank to itself is in its list once. */
    const int at_a = degrees[a]++, at_b = a == b ? at_a : degrees[b]++;
    neighbours[a][at_a] = b;
    neighbours[b][at_b] = a;
    add_link(topology, (Link){a, b, at_a, at_b});
    if (a != b) add_link(topology, (Link){b, a, at_b, at_a});
  }
  for (int i = 0; i < size && !may_be_lonely; ++i) {
    if (degrees[i] != 0) continue;
    neighbours[i][degrees[i]++] = i;
    add_link(topology, (Link){i, i, 0, 0});
  }
  free(joined);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < degrees[i]; ++j) flat[filled++] = neighbours[i][j];
    index[i] = filled;
  }
  topology->sends = topology->receives = degrees[rank];
  /* Open MPI asks for nodes, and edges that are no null pointer. */
  MPI_Graph_create(MPI_COMM_WORLD, size, index, flat, 0, &topology->comm);
}

static void make_topology(Topology* topology, int kind, uint64_t* shared, int rank, int size,
                          int standard) {
  topology->links = 0;
  if (kind == 0) make_cartesian(topology, shared, size, standard);
  /* The calls of ranks beside lonely ones are the host's. */
  int may_be_lonely = kind != 0 && below(shared, 3) == 0;
#ifdef MPICH
  may_be_lonely = may_be_lonely && kind != 2;
#endif
  standard = standard || may_be_lonely;
  if (kind == 1) make_graph(topology, shared, rank, size, standard, may_be_lonely);
  if (kind == 2) make_distributed(topology, shared, rank, size, standard, may_be_lonely);
}

/* Where blocks lie: of a type of six ints each, or of one for all of them. */
typedef struct {
  int blocks;
  int counts[kMostDegree + 1];
  int displacements[kMostDegree + 1]; /* elements, or bytes for w */
  MPI_Aint bytes[kMostDegree + 1];
  MPI_Datatype types[kMostDegree + 1];
  Area area;
} Buffers;

enum { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kForms };
static const char* kForm[kForms] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                    "alltoallw"};

/* `counts` of block i, for all blocks of one type but for w; regular ones lie one behind another,
 * others with gaps. */
static void lay_out_blocks(Buffers* buffers, int blocks, const int* counts, int regular,
                           uint64_t* own) {
  const int kind = below(own, kKinds);
  MPI_Datatype type = make_type(kind);
  MPI_Aint low = 0, extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  buffers->blocks = blocks;
  int end = 0;
  buffers->counts[0] = counts[0];
  for (int i = 0; i < blocks; ++i) {
    buffers->counts[i] = counts[i];
    buffers->types[i] = type;
    buffers->displacements[i] = end;
    buffers->bytes[i] = (MPI_Aint)end * extent;
    end += counts[i] + (regular ? 0 : below(own, 3));
  }
  buffers->types[blocks] = type;
  buffers->area = make_area(type, end + 1, own);
}

static void free_blocks(Buffers* buffers) {
  MPI_Type_free(&buffers->types[buffers->blocks]);
  free(buffers->area.memory);
}

static void run_form(int form, const Buffers* send, const Buffers* receive, MPI_Comm comm) {
  /* Those of the first block also where this rank has no neighbour. */
  const int all = send->counts[0], each = receive->counts[0];
  const MPI_Datatype send_type = send->types[send->blocks];
  const MPI_Datatype receive_type = receive->types[receive->blocks];
  void *from = send->area.start, *to = receive->area.start;
  switch (form) {
    case kAllgather:
      MPI_Neighbor_allgather(from, all, send_type, to, each, receive_type, comm);
      break;
    case kAllgatherv:
      MPI_Neighbor_allgatherv(from, all, send_type, to, receive->counts, receive->displacements,
                              receive_type, comm);
      break;
    case kAlltoall:
      MPI_Neighbor_alltoall(from, all, send_type, to, each, receive_type, comm);
      break;
    case kAlltoallv:
      MPI_Neighbor_alltoallv(from, send->counts, send->displacements, send_type, to,
                             receive->counts, receive->displacements, receive_type, comm);
      break;
    default:
      MPI_Neighbor_alltoallw(from, send->counts, send->bytes, send->types, to, receive->counts,
                             receive->bytes, receive->types, comm);
  }
}

/* The same by sends and receives. */
static void reference_of(const Topology* topology, int rank, const Buffers* send,
                         const Buffers* receive, unsigned char* into) {
  static MPI_Request requests[2 * kMostEdges];
  int started = 0;
  for (int i = 0; i < topology->links; ++i) {
    const Link* link = &topology->link[i];
    if (link->to == rank) {
      MPI_Irecv(into + receive->bytes[link->receive_block], receive->counts[link->receive_block],
                receive->types[link->receive_block], link->from, i, topology->comm,
                &requests[started++]);
    }
    if (link->from == rank) {
      MPI_Isend(send->area.start + send->bytes[link->send_block], send->counts[link->send_block],
                send->types[link->send_block], link->to, i, topology->comm, &requests[started++]);
    }
  }
  for (int i = 0; i < started; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static int any_count(uint64_t* random) {
  static const int counts[8] = {0, 1, 1, 2, 10, 11, 60, 1200};
  return counts[below(random, 8)];
}

static void one_call(const Topology* topology, const char* kind, int rank, int size,
                     uint64_t* shared, uint64_t* own, int round) {
  const int form = below(shared, kForms), equal = any_count(shared);
  int sends[kMostDegree + 1] = {0}, receives[kMostDegree + 1] = {0}, of_rank[64];
  for (int i = 0; i < size; ++i) of_rank[i] = any_count(shared);
  const int is_same = form == kAllgather || form == kAlltoall;
  for (int i = 0; i < topology->links; ++i) {
    const Link* link = &topology->link[i];
    const int any = any_count(shared);
    const int count = is_same ? equal : form == kAllgatherv ? of_rank[link->from] : any;
    if (link->from == rank) sends[link->send_block] = count;
    if (link->to == rank) receives[link->receive_block] = count;
  }
  /* Blocks of no neighbour have counts like the others. */
  const int one_for_all = form == kAllgather || form == kAllgatherv;
  for (int i = 0; i <= kMostDegree; ++i) {
    if (is_same) sends[i] = receives[i] = equal;
    if (form == kAllgatherv) sends[i] = of_rank[rank];
  }
  const int is_lonely = topology->sends + topology->receives == 0;
  if (is_lonely && below(own, 2) != 0) sends[0] = receives[0] = 0;
  Buffers send, receive;
  lay_out_blocks(&send, topology->sends, sends, is_same, own);
  lay_out_blocks(&receive, topology->receives, receives, is_same, own);
  if (one_for_all) {
    for (int i = 0; i < topology->sends; ++i) send.bytes[i] = 0;
  }
  Area expected = copy_of(&receive.area);
  const Area before = copy_of(&send.area);
  reference_of(topology, rank, &send, &receive, expected.start);
  if (!is_lonely || below(own, 2) != 0) run_form(form, &send, &receive, topology->comm);
  expect(same(&receive.area, &expected), "round %d: neighbor_%s on a %s of %d ranks", round,
         kForm[form], kind, size);
  expect(same(&send.area, &before), "round %d: the send buffer changed", round);
  free_blocks(&send);
  free_blocks(&receive);
  free(expected.memory);
  free(before.memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const int standard = argc > 3 && strcmp(argv[3], "standard") == 0;
  const int fixed = argc > 4 ? atoi(argv[4]) : 0;
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t own = shared * 1000 + (uint64_t)rank;
  static Topology topology;
  for (int round = 0; round < rounds; ++round) {
    const int kind = below(&shared, 3);
    make_topology(&topology, kind, &shared, rank, size, standard);
    const int drawn = 1 + below(&shared, 6), calls = fixed > 0 ? fixed : drawn;
    for (int call = 0; call < calls; ++call) {
      one_call(&topology, kNames[kind], rank, size, &shared, &own, round);
    }
    MPI_Comm_free(&topology.comm);
  }
  return finish();
}
