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

/// Calls whose handlers are called: they keep their communicators meanwhile. A handler that leaves
/// by longjmp leaves its call here.
std::vector<std::shared_ptr<const PendingCall>>& told_by_this_thread() {
  static thread_local auto& told = *new std::vector<std::shared_ptr<const PendingCall>>;
  return told;
}

}  // namespace

constinit thread_local bool Failures::is_any = false;
constinit thread_local bool Failures::has_told = false;

void Failures::add(Failure failure) {
  of_this_thread().push_back(std::move(failure));
  is_any = true;
}

std::vector<Failure> Failures::take() {
  is_any = false;
  return std::exchange(of_this_thread(), {});
}

int Failures::tell(std::shared_ptr<const PendingCall> call) {
  auto& told = told_by_this_thread();
  const std::size_t before = told.size();
  MPI_Comm comm = call->comm();
  const int code = call->code();
  told.push_back(std::move(call));
  has_told = true;
  PMPI_Comm_call_errhandler(comm, code);
  if (told.size() > before) told.resize(before);
  return code;
}

void Failures::forget() {
  has_told = false;
  // Frees what only they have kept, and then callbacks of attributes may do anything.
  const auto told = std::exchange(told_by_this_thread(), {});
}

int Failures::end_failed(int code) {
  std::vector<Failure> failed = take();
  if (code != MPI_SUCCESS) return code;
  auto call = std::move(failed.front().call);
  failed = {};
  return tell(std::move(call));
}

SeveralEnds::SeveralEnds(int count, const MPI_Request requests[]) {
  if (count <= 0 || requests == nullptr) return;
  if (!is_any_pending() && !request_counts.has_failed) return;
  requests_.assign(requests, requests + count);
}

int SeveralEnds::end_failed(int code, const int* ended, const int indices[],
                            MPI_Status statuses[]) const {
  std::vector<Failure> failed = Failures::take();
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
  auto call = std::move(failed.front().call);
  failed = {};
  Failures::tell(std::move(call));
  return MPI_ERR_IN_STATUS;
}

}  // namespace weft::mpi
