// Entry points of the add-on: MPI functions that the dynamic linker finds before the host's.
//
// Each is defined under both of its names. C programs call MPI_X; the Fortran libraries of Open MPI
// call PMPI_X and those of MPICH MPI_X, for mpif.h, `use mpi` and `use mpi_f08` alike, with handles
// and MPI_IN_PLACE already translated. So there are no Fortran wrappers here.
#include <mpi.h>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/pmpi/next_host.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/key_values.hpp"
#include "mpi/world/world.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))
#define WEFT_ALIAS(name) __attribute__((alias(name), visibility("default")))

// Defines one collective under both of its names. `call` makes a Call from the arguments.
#define WEFT_DEFINE(name, parameters, arguments, call)                            \
  WEFT_ENTRY int PMPI_##name parameters {                                         \
    static const auto host = host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    auto weft_call = call;                                                        \
    const auto done = weft::mpi::try_run(weft_call);                              \
    return done ? *done : host arguments;                                         \
  }                                                                               \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);

using weft::mpi::Blocks;
using weft::mpi::host_function;
using weft::mpi::TypedBlocks;
using weft::mpi::World;
using weft::plan::Collective;

/// Runs `host`, the host's MPI_Init with its arguments, and starts the add-on after it.
template <class Host>
static int initialize(Host host) {
  weft::mpi::keep_settings();
  weft::mpi::publish_before_init();
  if (weft::mpi::is_disabled_here()) return host();
  weft::mpi::require_host();
  const int error = host();
  if (error == MPI_SUCCESS) World::start();
  return error;
}

WEFT_ENTRY int PMPI_Init(int* argc, char*** argv) {
  static const auto host = host_function<decltype(PMPI_Init)>("PMPI_Init");
  return initialize([=] { return host(argc, argv); });
}

WEFT_ENTRY int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  static const auto host = host_function<decltype(PMPI_Init_thread)>("PMPI_Init_thread");
  return initialize([=] { return host(argc, argv, required, provided); });
}

WEFT_ENTRY int PMPI_Finalize() {
  static const auto host = host_function<decltype(PMPI_Finalize)>("PMPI_Finalize");
  World::finish();
  return host();
}

WEFT_ENTRY int PMPI_Comm_free(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_free)>("PMPI_Comm_free");
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

WEFT_ENTRY int PMPI_Comm_disconnect(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_disconnect)>("PMPI_Comm_disconnect");
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

// What makes communicators of others is followed, so that their set-up needs no agreement on which
// of several communicators of the same ranks is meant. MPI_Comm_idup is not: when the host makes
// the new one, this rank may be elsewhere.
#define WEFT_DEFINE_MAKER(name, parameters, arguments, follow)                    \
  WEFT_ENTRY int PMPI_##name parameters {                                         \
    static const auto host = host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    const int error = host arguments;                                             \
    World* world = error == MPI_SUCCESS ? World::get() : nullptr;                 \
    if (world != nullptr) world->communicators().follow;                          \
    return error;                                                                 \
  }                                                                               \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);

WEFT_DEFINE_MAKER(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made),
                  (comm, info, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made),
                  (comm, group, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made),
                  (comm, group, tag, made), add_child_of_group(comm, *made, tag))
WEFT_DEFINE_MAKER(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made),
                  (comm, color, key, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Comm_split_type,
                  (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
                  (comm, type, key, info, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Cart_create,
                  (MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
                   int reorder, MPI_Comm* made),
                  (comm, dimensions, sizes, periods, reorder, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* made),
                  (comm, remain, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Graph_create,
                  (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                   MPI_Comm* made),
                  (comm, nodes, index, edges, reorder, made), add_child(comm, *made))
WEFT_DEFINE_MAKER(Dist_graph_create,
                  (MPI_Comm comm, int count, const int sources[], const int degrees[],
                   const int destinations[], const int weights[], MPI_Info info, int reorder,
                   MPI_Comm* made),
                  (comm, count, sources, degrees, destinations, weights, info, reorder, made),
                  add_child(comm, *made))
WEFT_DEFINE_MAKER(Dist_graph_create_adjacent,
                  (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out,
                   const int destinations[], const int destination_weights[], MPI_Info info,
                   int reorder, MPI_Comm* made),
                  (comm, in, sources, source_weights, out, destinations, destination_weights, info,
                   reorder, made),
                  add_child(comm, *made))
WEFT_DEFINE_MAKER(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made),
                  add_merged(*made))

extern "C" {
int MPI_Init(int* argc, char*** argv) WEFT_ALIAS("PMPI_Init");
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    WEFT_ALIAS("PMPI_Init_thread");
int MPI_Finalize() WEFT_ALIAS("PMPI_Finalize");
int MPI_Comm_free(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_free");
int MPI_Comm_disconnect(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_disconnect");
}

WEFT_DEFINE(Barrier, (MPI_Comm comm), (comm), weft::mpi::Barrier(comm))

#define WEFT_COLLECTIVE WEFT_DEFINE
#define WEFT_COUNT int
#define WEFT_DISPLACEMENT int
#include "mpi/pmpi/collectives.inc"
#undef WEFT_COLLECTIVE
#undef WEFT_COUNT
#undef WEFT_DISPLACEMENT

#if MPI_VERSION >= 4
#define WEFT_COLLECTIVE(name, parameters, arguments, call) \
  WEFT_DEFINE(name##_c, parameters, arguments, call)
#define WEFT_COUNT MPI_Count
#define WEFT_DISPLACEMENT MPI_Aint
#include "mpi/pmpi/collectives.inc"
#endif
