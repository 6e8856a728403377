// Entry points that wait for messages in MPICH, which does not move weft on meanwhile: while calls
// are pending they wait by tests (mpi/pmpi/waits.hpp). Open MPI's need none of it.
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "mpi/host/host.hpp"
#include "mpi/pmpi/define.hpp"
#include "mpi/pmpi/waits.hpp"

#if !WEFT_HOST_CALLS_IN_WAITS

using weft::mpi::wait_by_tests;
using weft::mpi::waits_by_tests;

namespace {

struct Send {
  const void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int to, tag;
};

struct Receive {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int from, tag;
};

/// Both at once. Not by the host's MPI_Isendrecv: that of MPICH 4.0 counts one use of the received
/// datatype and ends two, so that the datatype is freed under the program.
int exchange(const Send& send, const Receive& receive, MPI_Comm comm, MPI_Status* status) {
  MPI_Request received = MPI_REQUEST_NULL;
  MPI_Request sent = MPI_REQUEST_NULL;
  int code = PMPI_Irecv_c(receive.buffer, receive.count, receive.type, receive.from, receive.tag,
                          comm, &received);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Isend_c(send.buffer, send.count, send.type, send.to, send.tag, comm, &sent);
  if (code != MPI_SUCCESS) {
    PMPI_Cancel(&received);
    PMPI_Wait(&received, MPI_STATUS_IGNORE);
    return code;
  }
  const int of_receive = wait_by_tests(&received, status);
  const int of_send = wait_by_tests(&sent);
  return of_receive != MPI_SUCCESS ? of_receive : of_send;
}

/// A copy of what is to be sent before it is overwritten. Null where the host cannot pack it, or
/// there is no memory for it.
std::unique_ptr<std::byte[]> pack(const void* buffer, MPI_Count count, MPI_Datatype type,
                                  MPI_Comm comm, MPI_Count* bytes) {
  MPI_Count room = 0;
  if (PMPI_Pack_size_c(count, type, comm, &room) != MPI_SUCCESS) return nullptr;
  std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[static_cast<std::size_t>(room)]);
  if (packed == nullptr) return nullptr;
  const int code = PMPI_Pack_c(buffer, count, type, packed.get(), room, bytes, comm);
  return code == MPI_SUCCESS ? std::move(packed) : nullptr;
}

}  // namespace

// `begin` starts the same with `&request`.
#define WEFT_WAITS(name, parameters, arguments, begin, status)             \
  WEFT_DEFINE_OF_REQUESTS(name, parameters, arguments) {                   \
    if (!waits_by_tests()) return host arguments;                          \
    MPI_Request request = MPI_REQUEST_NULL;                                \
    const int error = begin;                                               \
    return error != MPI_SUCCESS ? error : wait_by_tests(&request, status); \
  }

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
WEFT_WAITS(Mrecv_c,
           (void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
            MPI_Status* status),
           (buffer, count, type, message, status),
           PMPI_Imrecv_c(buffer, count, type, message, &request), status)

#define WEFT_EXCHANGES(name, Count)                                                                \
  WEFT_DEFINE_OF_REQUESTS(Sendrecv##name,                                                          \
                          (const void* send, Count sends, MPI_Datatype send_type, int to,          \
                           int send_tag, void* receive, Count receives, MPI_Datatype receive_type, \
                           int from, int tag, MPI_Comm comm, MPI_Status* status),                  \
                          (send, sends, send_type, to, send_tag, receive, receives, receive_type,  \
                           from, tag, comm, status)) {                                             \
    if (!waits_by_tests()) {                                                                       \
      return host(send, sends, send_type, to, send_tag, receive, receives, receive_type, from,     \
                  tag, comm, status);                                                              \
    }                                                                                              \
    return exchange({send, sends, send_type, to, send_tag},                                        \
                    {receive, receives, receive_type, from, tag}, comm, status);                   \
  }                                                                                                \
  WEFT_DEFINE_OF_REQUESTS(Sendrecv_replace##name,                                                  \
                          (void* buffer, Count count, MPI_Datatype type, int to, int send_tag,     \
                           int from, int tag, MPI_Comm comm, MPI_Status* status),                  \
                          (buffer, count, type, to, send_tag, from, tag, comm, status)) {          \
    MPI_Count bytes = 0;                                                                           \
    const auto packed = waits_by_tests() ? pack(buffer, count, type, comm, &bytes) : nullptr;      \
    if (packed == nullptr)                                                                         \
      return host(buffer, count, type, to, send_tag, from, tag, comm, status);                     \
    return exchange({packed.get(), bytes, MPI_PACKED, to, send_tag},                               \
                    {buffer, count, type, from, tag}, comm, status);                               \
  }

WEFT_EXCHANGES(, int)
WEFT_EXCHANGES(_c, MPI_Count)

WEFT_DEFINE_OF_REQUESTS(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status),
                        (from, tag, comm, status)) {
  return wait_by_tests([&](int* done) { return PMPI_Iprobe(from, tag, comm, done, status); },
                       [&] { return host(from, tag, comm, status); });
}
WEFT_DEFINE_OF_REQUESTS(Mprobe,
                        (int from, int tag, MPI_Comm comm, MPI_Message* message,
                         MPI_Status* status),
                        (from, tag, comm, message, status)) {
  return wait_by_tests(
      [&](int* done) { return PMPI_Improbe(from, tag, comm, done, message, status); },
      [&] { return host(from, tag, comm, message, status); });
}

#endif
