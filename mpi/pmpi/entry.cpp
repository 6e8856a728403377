// Entry points that are no collectives: the beginning and the end of MPI, and what makes or frees
// the objects of others. How entry points are defined: mpi/pmpi/define.hpp.
#include <mpi.h>

#include "engine/heap/heap.hpp"
#include "mpi/calls/repeats.hpp"
#include "mpi/calls/vector_repeats.hpp"
#include "mpi/pmpi/define.hpp"
#include "mpi/requests/failures.hpp"
#include "mpi/requests/held.hpp"
#include "mpi/requests/pending_call.hpp"
#include "mpi/world/communicators.hpp"
#include "mpi/world/key_values.hpp"
#include "mpi/world/world.hpp"

/// weft::mpi::kPreloadedMark.
// NOLINTNEXTLINE(readability-identifier-naming): what the library exports
WEFT_ENTRY const char weft_preloaded[] = WEFT_VERSION;

using weft::mpi::host_function;
using weft::mpi::Repeats;
using weft::mpi::VectorRepeats;
using weft::mpi::World;

/// Runs `host`, the host's MPI_Init with its arguments, and starts the add-on after it.
template <class Host>
static int initialize(Host host) {
  weft::mpi::keep_settings();
  weft::mpi::publish_before_init();
  if (weft::mpi::is_disabled_here()) return host();
  weft::mpi::require_host();
  const weft::engine::heap::Pause pause;
  const int error = host();
  if (error == MPI_SUCCESS) World::start();
  if (World::get() != nullptr && !World::has_several_threads()) {
    Repeats::turn_on();
    VectorRepeats::turn_on();
  }
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
  weft::mpi::drain_all();
  Repeats::turn_off();
  VectorRepeats::turn_off();
  World::finish();
  return host();
}

WEFT_ENTRY int PMPI_Abort(MPI_Comm comm, int code) {
  static const auto host = host_function<decltype(PMPI_Abort)>("PMPI_Abort");
  if (!weft::mpi::Inside::here()) World::tell_abort();
  return host(comm, code);
}

WEFT_ENTRY int PMPI_Comm_free(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_free)>("PMPI_Comm_free");
  weft::mpi::Failures::forget_told();
  if (comm != nullptr && weft::mpi::free_comm_later(*comm, host)) {
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

WEFT_ENTRY int PMPI_Comm_disconnect(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_disconnect)>("PMPI_Comm_disconnect");
  if (comm != nullptr) weft::mpi::drain(*comm);
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

WEFT_ENTRY int PMPI_Type_free(MPI_Datatype* type) {
  static const auto host = host_function<decltype(PMPI_Type_free)>("PMPI_Type_free");
  if (type == nullptr || !weft::mpi::free_type_later(*type, host)) return host(type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

WEFT_ENTRY int PMPI_Op_free(MPI_Op* op) {
  static const auto host = host_function<decltype(PMPI_Op_free)>("PMPI_Op_free");
  if (op == nullptr || !weft::mpi::free_op_later(*op, host)) return host(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

// What makes communicators of others is followed, so that their set-up needs no agreement on which
// of several communicators of the same ranks is meant. MPI_Comm_idup is not: when the host makes
// the new one, this rank may be elsewhere.
#define WEFT_DEFINE_MAKER(name, parameters, arguments, follow)                    \
  WEFT_ENTRY int PMPI_##name parameters {                                         \
    static const auto host = host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    weft::mpi::drain(comm);                                                       \
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
                  add_graph(comm, *made))
WEFT_DEFINE_MAKER(Dist_graph_create_adjacent,
                  (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out,
                   const int destinations[], const int destination_weights[], MPI_Info info,
                   int reorder, MPI_Comm* made),
                  (comm, in, sources, source_weights, out, destinations, destination_weights, info,
                   reorder, made),
                  add_graph(comm, *made))
WEFT_DEFINE_MAKER(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made),
                  add_merged(*made))

extern "C" {
int MPI_Init(int* argc, char*** argv) WEFT_ALIAS("PMPI_Init");
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    WEFT_ALIAS("PMPI_Init_thread");
int MPI_Finalize() WEFT_ALIAS("PMPI_Finalize");
int MPI_Abort(MPI_Comm comm, int code) WEFT_ALIAS("PMPI_Abort");
int MPI_Comm_free(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_free");
int MPI_Comm_disconnect(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_disconnect");
int MPI_Type_free(MPI_Datatype* type) WEFT_ALIAS("PMPI_Type_free");
int MPI_Op_free(MPI_Op* op) WEFT_ALIAS("PMPI_Op_free");
}
