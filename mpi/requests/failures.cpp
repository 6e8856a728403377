#include "mpi/requests/failures.hpp"

#include <algorithm>
#include <utility>

#include "mpi/requests/pending_call.hpp"

namespace weft::mpi {

namespace {

std::vector<Failure>& of_this_thread() {
  // Never destroyed: programs end in any order, the first thread before them.
  static thread_local auto& failures = *new std::vector<Failure>;
  return failures;
}

void call_handler(const Failure& failure) {
  PMPI_Comm_call_errhandler(failure.call->comm(), failure.call->code());
}

}  // namespace

constinit thread_local bool Failures::is_any = false;

void Failures::add(Failure failure) {
  of_this_thread().push_back(std::move(failure));
  is_any = true;
}

std::vector<Failure> Failures::take() {
  is_any = false;
  return std::exchange(of_this_thread(), {});
}

int Failures::end_failed(int code) {
  const std::vector<Failure> failed = take();
  if (code != MPI_SUCCESS) return code;
  call_handler(failed.front());
  return failed.front().call->code();
}

SeveralEnds::SeveralEnds(int count, const MPI_Request requests[]) {
  if (count <= 0 || requests == nullptr || !(is_any_pending() || has_failed)) return;
  requests_.assign(requests, requests + count);
}

int SeveralEnds::end_failed(int code, const int* ended, const int indices[],
                            MPI_Status statuses[]) const {
  const std::vector<Failure> failed = Failures::take();
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
  const int count = ended == nullptr ? static_cast<int>(requests_.size()) : *ended;
  for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; ++i) {
    const auto place = static_cast<std::size_t>(ended == nullptr ? i : indices[i]);
    const auto found = place < requests_.size()
                           ? std::ranges::find(failed, requests_[place], &Failure::request)
                           : failed.end();
    if (code == MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
    if (found != failed.end()) statuses[i].MPI_ERROR = found->call->code();
  }
  call_handler(failed.front());
  return MPI_ERR_IN_STATUS;
}

}  // namespace weft::mpi
