// Host MPI, that is, the program's own MPI below the add-on: its name, and how hosts differ. All
// that depends on which MPI's header this is compiled with is in this file; the other sources of
// mpi/ use what the standard has, and so compile with the header of MPI 5's standard ABI, too.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "mpi/host/host_facts.h"

/// Launchers of Open MPI have PMIx's key-value space, those of MPICH that of PMI-1.
#ifdef OPEN_MPI
#define WEFT_HOST_USES_PMIX 1
#else
#define WEFT_HOST_USES_PMIX 0
#endif
/// Open MPI calls, in all of its waits, functions that are registered with it.
#ifdef OPEN_MPI
#define WEFT_HOST_CALLS_IN_WAITS 1
#else
#define WEFT_HOST_CALLS_IN_WAITS 0
#endif

namespace weft::mpi {

#if defined(OPEN_MPI)
inline constexpr std::string_view kBuiltFor = "Open MPI";
inline constexpr bool kIsOpenMpi = true;
#elif defined(MPI_ABI_VERSION)
inline constexpr std::string_view kBuiltFor = "the standard ABI of MPI";
inline constexpr bool kIsOpenMpi = false;
#else
inline constexpr std::string_view kBuiltFor = "MPICH";
inline constexpr bool kIsOpenMpi = false;
#endif

/// What to type where some ranks lack the add-on.
inline constexpr const char* kPassAddOn =
    kIsOpenMpi ? "mpirun -x LD_PRELOAD=$(weft preload) passes it on"
               : "mpirun -env LD_PRELOAD $(weft preload --mpi mpich) passes it on";

/// Whether a rank in MPI_Recv keeps its core from others, also where ranks outnumber cores. Open
/// MPI gives it away then.
inline constexpr bool kReceiveKeepsCore = !kIsOpenMpi;

/// MPI forbids a call to use one buffer for sending and receiving. Open MPI treats such a call as
/// in place; MPICH refuses it where both buffers are given by equal arguments.
inline constexpr bool kRefusesEqualBuffers = !kIsOpenMpi;

/// Whether the datatypes of an alltoallw must be valid where their count is 0. MPICH ignores them.
inline constexpr bool kChecksTypesOfEmptyBlocks = kIsOpenMpi;

/// How many datatypes more than there are blocks the host may look at in a nonblocking alltoallw.
/// Open MPI 4.1 takes as many as the communicator's topology has neighbours, also where it has
/// fewer ranks: 4 in a grid of two. Null ones it leaves alone.
inline constexpr std::size_t kTypesReadBeyond = kIsOpenMpi ? 64 : 0;

/// Whether blocking neighbourhood collectives match the blocks of two ranks that are joined several
/// times as the standard says. MPICH 4.0 does in the reverse order, and its alltoallw delivers
/// blocks of graphs to wrong places.
inline constexpr bool kMatchesEdgesInOrder = kIsOpenMpi;

/// Whether persistent collectives of the host may be used. Those of MPICH 4.0 deliver wrong data
/// (an allgatherv in place), do not end, or end in an error in MPI_Testall.
inline constexpr bool kHasPersistentCalls = kIsOpenMpi;

using HostFacts = ::weft_host_facts;

/// "Open MPI v4.1.4", as the host calls itself.
std::string host_name();

}  // namespace weft::mpi
