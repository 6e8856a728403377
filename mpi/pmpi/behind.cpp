// Entry points of what the host runs over a communicator, behind the calls that are pending there:
// these may become the host's, too, which all ranks must then call in one order.
#include <mpi.h>

#include "mpi/pmpi/define.hpp"
#include "mpi/requests/requests.hpp"

// Those that wait for other ranks themselves.
#define WEFT_BEHIND(name, parameters, arguments) \
  WEFT_DEFINE(name, parameters, {                \
    weft::mpi::drain(comm);                      \
    return host arguments;                       \
  })

WEFT_BEHIND(Win_create,
            (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
            (base, size, unit, info, comm, win))
WEFT_BEHIND(Win_allocate,
            (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),
            (size, unit, info, comm, base, win))
WEFT_BEHIND(Win_allocate_shared,
            (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),
            (size, unit, info, comm, base, win))
WEFT_BEHIND(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win))
WEFT_BEHIND(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
            (comm, name, mode, info, file))
WEFT_BEHIND(Intercomm_create,
            (MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm* made),
            (comm, leader, peers, remote, tag, made))
WEFT_BEHIND(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
            (port, info, root, comm, made))
WEFT_BEHIND(Comm_connect,
            (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
            (port, info, root, comm, made))
WEFT_BEHIND(Comm_spawn,
            (const char* command, char* arguments[], int most, MPI_Info info, int root,
             MPI_Comm comm, MPI_Comm* made, int codes[]),
            (command, arguments, most, info, root, comm, made, codes))
WEFT_BEHIND(Comm_spawn_multiple,
            (int count, char* commands[], char** arguments[], const int most[],
             const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* made, int codes[]),
            (count, commands, arguments, most, infos, root, comm, made, codes))

// Those that do not wait.
WEFT_DEFINE(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request), {
  if (made == nullptr) return host(comm, made, request);  // which refuses it
  return weft::mpi::start_behind(comm, request,
                                 [=](MPI_Request* of_host) { return host(comm, made, of_host); });
})
