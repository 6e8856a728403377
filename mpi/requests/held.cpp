#include "mpi/requests/held.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "base/call_mutex.hpp"
#include "mpi/calls/call.hpp"

namespace weft::mpi {

namespace {

/// Where datatypes, operations and communicators are of one C type, `kind` tells them apart.
struct Waiting {
  enum class Kind : std::uint8_t { type, op, comm } kind;
  MPI_Datatype type_handle = MPI_DATATYPE_NULL;
  MPI_Op op_handle = MPI_OP_NULL;
  MPI_Comm comm_handle = MPI_COMM_NULL;
  int (*free_type)(MPI_Datatype*) = nullptr;
  int (*free_op)(MPI_Op*) = nullptr;
  int (*free_comm)(MPI_Comm*) = nullptr;

  bool is_in(const Handles& handles) const {
    if (kind == Kind::type) return handles.contains(type_handle);
    return kind == Kind::op ? handles.op == op_handle : handles.comm == comm_handle;
  }
  void free() {
    if (kind == Kind::type) {
      free_type(&type_handle);
    } else if (kind == Kind::op) {
      free_op(&op_handle);
    } else {
      const Freeing freeing(&comm_handle);
      free_comm(&comm_handle);
    }
  }
};

/// The communicator is kept by the request.
void count_uses(const HostFacts& facts, const Handles& handles, bool holds) {
  for (MPI_Datatype type : handles.types) facts.hold_type(type, holds);
  if (handles.op != MPI_OP_NULL) facts.hold_op(handles.op, holds);
}

}  // namespace

/// Those that hold something, and what waits for them.
class HeldTable {
 public:
  void add(Held& held) {
    const std::lock_guard lock(mutex_);
    held.is_listed_ = true;
    held.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &held;
    first_ = &held;
  }
  void remove(Held& held) {
    std::vector<Waiting> unused;
    {
      const std::lock_guard lock(mutex_);
      (held.previous_ == nullptr ? first_ : held.previous_->next_) = held.next_;
      if (held.next_ != nullptr) held.next_->previous_ = held.previous_;
      if (waiting_.empty()) return;
      std::erase_if(waiting_, [&](const Waiting& one) {
        if (is_used(one)) return false;
        unused.push_back(one);
        return true;
      });
    }
    // Without the lock: callbacks of attributes may do anything.
    for (Waiting& one : unused) one.free();
  }
  /// False: nobody holds it.
  bool wait(const Waiting& one) {
    const std::lock_guard lock(mutex_);
    const bool used = is_used(one);
    if (used) waiting_.push_back(one);
    return used;
  }

 private:
  bool is_used(const Waiting& one) const {
    for (const Held* held = first_; held != nullptr; held = held->next_) {
      if (one.is_in(held->handles_)) return true;
    }
    return false;
  }

  CallMutex mutex_;
  Held* first_ = nullptr;
  std::vector<Waiting> waiting_;
};

namespace {
HeldTable& held_table() {
  static auto* one = new HeldTable;  // requests may be freed late
  return *one;
}
}  // namespace

void Held::hold(Handles handles) {
  facts_ = World::get()->host_facts();
  handles_ = std::move(handles);
  if (facts_ != nullptr) {
    count_uses(*facts_, handles_, true);
  } else {
    held_table().add(*this);
  }
}

Held::~Held() {
  if (facts_ != nullptr) count_uses(*facts_, handles_, false);
  if (is_listed_) held_table().remove(*this);
}

bool free_type_later(MPI_Datatype type, int (*host)(MPI_Datatype*)) {
  return held_table().wait({.kind = Waiting::Kind::type, .type_handle = type, .free_type = host});
}

bool free_op_later(MPI_Op op, int (*host)(MPI_Op*)) {
  return held_table().wait({.kind = Waiting::Kind::op, .op_handle = op, .free_op = host});
}

bool free_comm_later(MPI_Comm comm, int (*host)(MPI_Comm*)) {
  return held_table().wait({.kind = Waiting::Kind::comm, .comm_handle = comm, .free_comm = host});
}

}  // namespace weft::mpi
