#include "mpi/requests/held.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/calls/call.hpp"

namespace weft::mpi {

namespace {

/// Where datatypes, operations and communicators are of one C type, `kind` tells them apart.
struct Waiting {
  enum Kind { type, op, comm } kind;
  MPI_Datatype type_handle = MPI_DATATYPE_NULL;
  MPI_Op op_handle = MPI_OP_NULL;
  MPI_Comm comm_handle = MPI_COMM_NULL;
  int (*free_type)(MPI_Datatype*) = nullptr;
  int (*free_op)(MPI_Op*) = nullptr;
  int (*free_comm)(MPI_Comm*) = nullptr;

  bool is_in(const Handles& handles) const {
    if (kind == type) return handles.contains(type_handle);
    return kind == op ? handles.op == op_handle : handles.comm == comm_handle;
  }
  void free() {
    if (kind == type) {
      free_type(&type_handle);
    } else if (kind == op) {
      free_op(&op_handle);
    } else {
      const Freeing freeing(&comm_handle);
      free_comm(&comm_handle);
    }
  }
};

struct HeldTable {
  std::mutex mutex;
  std::list<Handles> held;
  std::vector<Waiting> waiting;

  bool is_used(const Waiting& one) const {
    return std::ranges::any_of(held, [&](const Handles& handles) { return one.is_in(handles); });
  }
};

HeldTable& held_table() {
  static auto* one = new HeldTable;  // requests may be freed late
  return *one;
}

std::atomic<std::size_t> held_count = 0;

bool wait(const Waiting& one) {
  if (held_count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(held_table().mutex);
  const bool used = held_table().is_used(one);
  if (used) held_table().waiting.push_back(one);
  return used;
}

/// The communicator is kept by the request.
void count_uses(const HostFacts& facts, const Handles& handles, bool holds) {
  for (MPI_Datatype type : handles.types) facts.hold_type(type, holds);
  if (handles.op != MPI_OP_NULL) facts.hold_op(handles.op, holds);
}

}  // namespace

void Held::hold(Handles handles) {
  facts_ = World::get()->host_facts();
  if (facts_ != nullptr) {
    counted_ = std::move(handles);
    count_uses(*facts_, counted_, true);
    return;
  }
  const std::lock_guard lock(held_table().mutex);
  held_count.fetch_add(1, std::memory_order_acq_rel);
  place_ = held_table().held.insert(held_table().held.end(), std::move(handles));
}

Held::~Held() {
  if (facts_ != nullptr) count_uses(*facts_, counted_, false);
  if (!place_) return;
  std::vector<Waiting> unused;
  {
    const std::lock_guard lock(held_table().mutex);
    held_table().held.erase(*place_);
    held_count.fetch_sub(1, std::memory_order_acq_rel);
    std::erase_if(held_table().waiting, [&](const Waiting& one) {
      if (held_table().is_used(one)) return false;
      unused.push_back(one);
      return true;
    });
  }
  // Without the lock: callbacks of attributes may do anything.
  for (Waiting& one : unused) one.free();
}

bool free_type_later(MPI_Datatype type, int (*host)(MPI_Datatype*)) {
  return wait({.kind = Waiting::type, .type_handle = type, .free_type = host});
}

bool free_op_later(MPI_Op op, int (*host)(MPI_Op*)) {
  return wait({.kind = Waiting::op, .op_handle = op, .free_op = host});
}

bool free_comm_later(MPI_Comm comm, int (*host)(MPI_Comm*)) {
  return wait({.kind = Waiting::comm, .comm_handle = comm, .free_comm = host});
}

}  // namespace weft::mpi
