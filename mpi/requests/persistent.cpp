#include "mpi/requests/persistent.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/call_mutex.hpp"

namespace weft::mpi {

namespace {

struct Persistent {
  std::shared_ptr<Work> work;
  MPI_Request active = MPI_REQUEST_NULL;  // of the collective that was started
  bool is_works_own = false;              // `active` is freed with the work
};

struct PersistentTable {
  CallMutex mutex;
  std::map<MPI_Request, Persistent> requests;

  Persistent* find(MPI_Request request) {
    const auto found = requests.find(request);
    return found == requests.end() ? nullptr : &found->second;
  }
};

PersistentTable& persistent_table() {
  static auto* one = new PersistentTable;  // programs may leave requests behind
  return *one;
}

std::shared_ptr<Work> work_of(MPI_Request request) {
  const std::lock_guard lock(persistent_table().mutex);
  const Persistent* persistent = persistent_table().find(request);
  return persistent == nullptr ? nullptr : persistent->work;
}

}  // namespace

namespace {

// In a component of the host, whose requests start what they were made for.

int start_kept(void* kept, MPI_Request request) {
  const auto call = start(*static_cast<std::shared_ptr<Work>*>(kept), false);
  if (call == nullptr) return MPI_ERR_REQUEST;  // weft has ended
  complete_with(call, request);
  return MPI_SUCCESS;
}

void drop_kept(void* kept) {
  delete static_cast<std::shared_ptr<Work>*>(kept);
}

int make_in_host(const HostFacts& facts, std::shared_ptr<Work> work, MPI_Request* request) {
  MPI_Comm comm = work->comm();
  auto* const kept = new std::shared_ptr<Work>(std::move(work));
  *request = facts.new_persistent_request(comm, {kept, &start_kept, &drop_kept});
  if (*request != MPI_REQUEST_NULL) return MPI_SUCCESS;
  drop_kept(kept);
  return MPI_ERR_NO_MEM;
}

}  // namespace

std::shared_ptr<Attached> own_of_persistent(Attached& attached) {
  const Inside guard;
  return World::get()->communicators().add_persistent(attached);
}

int make_persistent(std::shared_ptr<Work> work, MPI_Request* request) {
  if (const HostFacts* facts = World::get()->host_facts()) {
    return make_in_host(*facts, std::move(work), request);
  }
  const int code = PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard lock(persistent_table().mutex);
  persistent_table().requests[*request] = {std::move(work)};
  request_counts.persistent.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}

int start_persistent(int count, MPI_Request requests[], int (*host)(int, MPI_Request[])) {
  for (int i = 0; i < count; ++i) {
    const std::shared_ptr<Work> work = work_of(requests[i]);
    MPI_Request active = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    bool is_works_own = false;
    if (work == nullptr) {
      code = host(1, &requests[i]);
    } else if (auto call = start(work)) {
      code = give_request(std::move(call), &active);
    } else {
      code = work->start_at_host(&active);
      is_works_own = kHasPersistentCalls;
    }
    if (code != MPI_SUCCESS) return code;
    if (work == nullptr) continue;
    const std::lock_guard lock(persistent_table().mutex);
    if (Persistent* persistent = persistent_table().find(requests[i])) {
      persistent->active = active;
      persistent->is_works_own = is_works_own;
    }
  }
  return MPI_SUCCESS;
}

bool free_persistent(MPI_Request* request, int& code) {
  if (request == nullptr) return false;
  Persistent ended;
  {
    const std::lock_guard lock(persistent_table().mutex);
    const auto found = persistent_table().requests.find(*request);
    if (found == persistent_table().requests.end()) return false;
    ended = std::move(found->second);
    persistent_table().requests.erase(found);
  }
  request_counts.persistent.fetch_sub(1, std::memory_order_relaxed);
  // What is under way ends later.
  if (ended.active != MPI_REQUEST_NULL && !ended.is_works_own) PMPI_Request_free(&ended.active);
  code = PMPI_Request_free(request);
  return true;
}

Unfolded::Unfolded(int count, MPI_Request requests[]) : given_(requests), count_(count) {
  if (!has_persistent() || count <= 0 || requests == nullptr) return;
  const std::lock_guard lock(persistent_table().mutex);
  for (int i = 0; i < count; ++i) {
    const Persistent* persistent = persistent_table().find(requests[i]);
    if (persistent == nullptr) continue;
    if (copy_ == nullptr) copy();
    copy_[i] = persistent->active;
  }
}

void Unfolded::copy() {
  if (count_ > 1) copies_.resize(static_cast<std::size_t>(count_));
  copy_ = count_ == 1 ? &only_ : copies_.data();
  std::copy_n(given_, count_, copy_);
}

void Unfolded::fold() {
  if (copy_ == nullptr) return;
  const std::lock_guard lock(persistent_table().mutex);
  for (int i = 0; i < count_; ++i) {
    Persistent* const persistent = persistent_table().find(given_[i]);
    (persistent != nullptr ? persistent->active : given_[i]) = copy_[i];
  }
  copy_ = nullptr;
}

}  // namespace weft::mpi
