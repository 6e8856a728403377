// Entry points that wait for messages in MPICH, which does not move weft on meanwhile: while calls
// are pending they wait by tests (mpi/pmpi/waits.hpp). Open MPI's need none of it.
#include <mpi.h>

#include <vector>

#include "mpi/host/host.hpp"
#include "mpi/pmpi/define.hpp"
#include "mpi/pmpi/waits.hpp"

#if !WEFT_HOST_CALLS_IN_WAITS

using weft::mpi::wait_by_tests;
using weft::mpi::waits_by_tests;

// `begin` starts the same with `&request`.
#define WEFT_WAITS(name, parameters, arguments, begin, status)             \
  WEFT_DEFINE(name, parameters, {                                          \
    if (!waits_by_tests()) return host arguments;                          \
    MPI_Request request = MPI_REQUEST_NULL;                                \
    const int error = begin;                                               \
    return error != MPI_SUCCESS ? error : wait_by_tests(&request, status); \
  })

#define WEFT_SENDS(name, lower)                                                                  \
  WEFT_WAITS(name,                                                                               \
             (const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm), \
             (buffer, count, type, to, tag, comm),                                               \
             PMPI_I##lower(buffer, count, type, to, tag, comm, &request), MPI_STATUS_IGNORE)     \
  WEFT_WAITS(                                                                                    \
      name##_c,                                                                                  \
      (const void* buffer, MPI_Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm),  \
      (buffer, count, type, to, tag, comm),                                                      \
      PMPI_I##lower##_c(buffer, count, type, to, tag, comm, &request), MPI_STATUS_IGNORE)

WEFT_SENDS(Send, send)
WEFT_SENDS(Ssend, ssend)
WEFT_SENDS(Rsend, rsend)

WEFT_WAITS(Recv,
           (void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Status* status),
           (buffer, count, type, from, tag, comm, status),
           PMPI_Irecv(buffer, count, type, from, tag, comm, &request), status)
WEFT_WAITS(Recv_c,
           (void* buffer, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
            MPI_Status* status),
           (buffer, count, type, from, tag, comm, status),
           PMPI_Irecv_c(buffer, count, type, from, tag, comm, &request), status)
WEFT_WAITS(Mrecv,
           (void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),
           (buffer, count, type, message, status),
           PMPI_Imrecv(buffer, count, type, message, &request), status)
WEFT_WAITS(Sendrecv,
           (const void* send, int sends, MPI_Datatype send_type, int to, int send_tag,
            void* receive, int receives, MPI_Datatype receive_type, int from, int tag,
            MPI_Comm comm, MPI_Status* status),
           (send, sends, send_type, to, send_tag, receive, receives, receive_type, from, tag, comm,
            status),
           PMPI_Isendrecv(send, sends, send_type, to, send_tag, receive, receives, receive_type,
                          from, tag, comm, &request),
           status)
WEFT_WAITS(Sendrecv_replace,
           (void* buffer, int count, MPI_Datatype type, int to, int send_tag, int from, int tag,
            MPI_Comm comm, MPI_Status* status),
           (buffer, count, type, to, send_tag, from, tag, comm, status),
           PMPI_Isendrecv_replace(buffer, count, type, to, send_tag, from, tag, comm, &request),
           status)

WEFT_DEFINE(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), {
  return wait_by_tests([&](int* done) { return PMPI_Iprobe(from, tag, comm, done, status); },
                       [&] { return host(from, tag, comm, status); });
})
WEFT_DEFINE(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status), {
  return wait_by_tests(
      [&](int* done) { return PMPI_Improbe(from, tag, comm, done, message, status); },
      [&] { return host(from, tag, comm, message, status); });
})

#endif
