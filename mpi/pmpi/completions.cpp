// Entry points that start and complete requests.
#include <mpi.h>

#include "mpi/pmpi/define.hpp"
#include "mpi/pmpi/waits.hpp"
#include "mpi/requests/failures.hpp"
#include "mpi/requests/persistent.hpp"

using weft::mpi::Failures;
using weft::mpi::SeveralEnds;
using weft::mpi::Unfolded;
using weft::mpi::wait_by_tests;
using weft::mpi::waits_by_tests;

namespace {

/// The host's test that corresponds to a wait.
#define WEFT_HOST(name) \
  static const auto name = weft::mpi::host_function<decltype(PMPI_##name)>("PMPI_" #name)

/// Whether the host's function does it alone, and only has to be asked for errors.
bool is_of_host() {
  return !weft::mpi::has_persistent() && !waits_by_tests();
}

/// Where the host does not.
void move_weft() {
  if (waits_by_tests()) weft::mpi::progress();
}

int start_one(int /*count*/, MPI_Request requests[]) {
  WEFT_HOST(Start);
  return Start(requests);
}

}  // namespace

WEFT_DEFINE_OF_REQUESTS(Wait, (MPI_Request * request, MPI_Status* status), (request, status)) {
  if (is_of_host()) return Failures::end_one(host(request, status));
  Unfolded requests(1, request);
  WEFT_HOST(Test);
  const int code = wait_by_tests([&](int* done) { return Test(requests.get(), done, status); },
                                 [&] { return host(requests.get(), status); });
  requests.fold();
  return Failures::end_one(code);
}

WEFT_DEFINE_OF_REQUESTS(Waitall, (int count, MPI_Request array[], MPI_Status statuses[]),
                        (count, array, statuses)) {
  Unfolded requests(count, array);
  const SeveralEnds ends(count, requests.get());
  if (is_of_host()) return ends.end(host(count, array, statuses), nullptr, nullptr, statuses);
  WEFT_HOST(Testall);
  WEFT_HOST(Request_get_status);
  // One after the other, as MPICH waits for generalized requests that it has to poll: of those
  // ROMIO makes its nonblocking collective writes, and each begins its collectives on the file's
  // communicator when it is polled. In turns they would begin in another order on each rank.
  int over = 0;
  const auto test = [&](int* done) {
    for (int code = MPI_SUCCESS; over < count && code == MPI_SUCCESS; ++over) {
      int is_over = 0;
      code = Request_get_status(requests.get()[over], &is_over, MPI_STATUS_IGNORE);
      if (code == MPI_SUCCESS && is_over == 0) return code;
    }
    return Testall(count, requests.get(), done, statuses);
  };
  const int code = wait_by_tests(test, [&] { return host(count, requests.get(), statuses); });
  requests.fold();
  return ends.end(code, nullptr, nullptr, statuses);
}

WEFT_DEFINE_OF_REQUESTS(Waitany, (int count, MPI_Request array[], int* index, MPI_Status* status),
                        (count, array, index, status)) {
  if (is_of_host()) return Failures::end_one(host(count, array, index, status));
  Unfolded requests(count, array);
  WEFT_HOST(Testany);
  const int code =
      wait_by_tests([&](int* done) { return Testany(count, requests.get(), index, done, status); },
                    [&] { return host(count, requests.get(), index, status); });
  requests.fold();
  return Failures::end_one(code);
}

WEFT_DEFINE_OF_REQUESTS(Waitsome,
                        (int count, MPI_Request array[], int* ended, int indices[],
                         MPI_Status statuses[]),
                        (count, array, ended, indices, statuses)) {
  Unfolded requests(count, array);
  const SeveralEnds ends(count, requests.get());
  if (is_of_host()) {
    return ends.end(host(count, array, ended, indices, statuses), ended, indices, statuses);
  }
  WEFT_HOST(Testsome);
  const auto test = [&](int* done) {
    const int code = Testsome(count, requests.get(), ended, indices, statuses);
    *done = code != MPI_SUCCESS || *ended != 0;
    return code;
  };
  const int code =
      wait_by_tests(test, [&] { return host(count, requests.get(), ended, indices, statuses); });
  requests.fold();
  return ends.end(code, ended, indices, statuses);
}

WEFT_DEFINE_OF_REQUESTS(Test, (MPI_Request * request, int* done, MPI_Status* status),
                        (request, done, status)) {
  if (is_of_host()) return Failures::end_one(host(request, done, status));
  move_weft();
  Unfolded requests(1, request);
  const int code = host(requests.get(), done, status);
  requests.fold();
  return Failures::end_one(code);
}

WEFT_DEFINE_OF_REQUESTS(Testall, (int count, MPI_Request array[], int* done, MPI_Status statuses[]),
                        (count, array, done, statuses)) {
  move_weft();
  Unfolded requests(count, array);
  const SeveralEnds ends(count, requests.get());
  const int code = host(count, requests.get(), done, statuses);
  if (code == MPI_SUCCESS && *done == 0) {
    if (Failures::any()) Failures::take();  // told when all are completed
    return code;
  }
  requests.fold();
  return ends.end(code, nullptr, nullptr, statuses);
}

WEFT_DEFINE_OF_REQUESTS(Testany,
                        (int count, MPI_Request array[], int* index, int* done, MPI_Status* status),
                        (count, array, index, done, status)) {
  if (is_of_host()) return Failures::end_one(host(count, array, index, done, status));
  move_weft();
  Unfolded requests(count, array);
  const int code = host(count, requests.get(), index, done, status);
  requests.fold();
  return Failures::end_one(code);
}

WEFT_DEFINE_OF_REQUESTS(Testsome,
                        (int count, MPI_Request array[], int* ended, int indices[],
                         MPI_Status statuses[]),
                        (count, array, ended, indices, statuses)) {
  move_weft();
  Unfolded requests(count, array);
  const SeveralEnds ends(count, requests.get());
  const int code = host(count, requests.get(), ended, indices, statuses);
  requests.fold();
  return ends.end(code, ended, indices, statuses);
}

WEFT_DEFINE_OF_REQUESTS(Request_get_status, (MPI_Request request, int* done, MPI_Status* status),
                        (request, done, status)) {
  move_weft();
  Unfolded requests(1, &request);
  const int code = host(*requests.get(), done, status);
  if (Failures::any()) Failures::take();  // told when the request is completed
  return code;
}

WEFT_DEFINE_OF_REQUESTS(Request_free, (MPI_Request * request), (request)) {
  int code = MPI_SUCCESS;
  if (weft::mpi::has_persistent() && weft::mpi::free_persistent(request, code)) return code;
  return host(request);
}

WEFT_DEFINE_OF_REQUESTS(Start, (MPI_Request * request), (request)) {
  if (!weft::mpi::has_persistent()) return host(request);
  return weft::mpi::start_persistent(1, request, &start_one);
}

WEFT_DEFINE_OF_REQUESTS(Startall, (int count, MPI_Request requests[]), (count, requests)) {
  if (!weft::mpi::has_persistent()) return host(count, requests);
  return weft::mpi::start_persistent(count, requests, &start_one);
}
