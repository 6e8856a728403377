// Verbs objects: what a program holds. Each begins with the public structure of verbs.h, which the
// program sees; the rest is the device's own. of(public) is the whole object, base(object) the
// public structure of it.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/file.hpp"
#include "verbs/soft/faults/active_faults.hpp"
#include "verbs/soft/process/process.hpp"

namespace weft::soft {

struct Device : ibv_device {
  const void* provider =
      nullptr;  // where libibverbs keeps its provider: others look here for theirs
  unsigned number = 0;
};

struct AsyncEvents;
struct Cq;
struct Mr;
class Runtime;

struct Context {
  verbs_context verbs;  // its last member is what programs hold
  Runtime* runtime;
  Process* process;  // the runtime's
  unsigned device;
  std::unique_ptr<AsyncEvents> events;
  std::atomic<int> users;
  std::mutex regions_mutex;
  std::set<Mr*> regions;
};

inline Context& of(ibv_context* context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(context) -
                                     offsetof(verbs_context, context));
}

struct Pd : ibv_pd {
  std::atomic<int> users{0};
};

struct Mr : ibv_mr {
  unsigned access = 0;
};

struct Channel : ibv_comp_channel {
  File event;
  std::uint32_t id = 0;
  std::mutex mutex;
  std::vector<Cq*> cqs;
};

struct Cq : ibv_cq_ex {
  std::uint32_t index = 0;
  CqBlock* block = nullptr;
  std::mutex consumer_mutex;
  std::uint64_t events_taken = 0;  // under the channel's mutex
  std::atomic<int> users{0};
  std::atomic<unsigned> empty_polls{1};  // in a row, about
  std::atomic<int> queued_qps{0};        // QPs of this CQ that have queued sends
  std::atomic<bool> error_reported{false};
  Cqe current{};  // of the extended interface
};

struct Srq : ibv_srq {
  std::uint32_t index = 0;
  SrqBlock* block = nullptr;
  std::uint32_t max_wr = 0;
  std::mutex post_mutex;
  std::atomic<int> users{0};
};

struct Ah : ibv_ah {
  ibv_ah_attr attributes{};
};

/// A send that waits: for the receiver, for its predecessors, or for the SQD state to end.
struct QueuedSend {
  ibv_send_wr request;
  std::uint64_t sequence;
  std::vector<ibv_sge> sge;
  std::vector<std::byte> inline_data;
  Fault fault{};
  std::int64_t due_ns = 0;  // does not go before
};

/// The requests that the extended interface (ibv_wr_*) has collected since wr_start.
struct Built {
  std::deque<QueuedSend> requests;
  int error = 0;
};

struct Qp : ibv_qp_ex {
  std::uint32_t index = 0;
  QpBlock* block = nullptr;
  bool extended = false;
  ibv_qp_init_attr initial{};
  ibv_qp_attr attributes{};  // as last set

  std::mutex send_mutex;  // guards all that follows, and modification
  std::uint64_t posted = 0;
  QpMessageCount message_count;
  std::deque<QueuedSend> queue;
  std::int64_t retry_until_ns = 0;  // of the queue's first request; 0: none was tried yet
  int retry_reason = 0;
  std::shared_ptr<Peer> peer;
  std::uint32_t destination_device = kNone;
  std::uint64_t drain_until = 0;  // in the SQD state: requests before this still run
  bool last_wqe_reported = false;
  bool drained_reported = false;

  std::mutex build_mutex;  // from wr_start to wr_complete or wr_abort
  Built built;

  std::mutex receive_mutex;
};

inline Pd& of(ibv_pd* pd) {
  return *static_cast<Pd*>(pd);
}
inline Mr& of(ibv_mr* mr) {
  return *static_cast<Mr*>(mr);
}
inline Channel& of(ibv_comp_channel* channel) {
  return *static_cast<Channel*>(channel);
}
inline Srq& of(ibv_srq* srq) {
  return *static_cast<Srq*>(srq);
}
inline Ah& of(ibv_ah* ah) {
  return *static_cast<Ah*>(ah);
}
inline Cq& of(ibv_cq_ex* cq) {
  return *static_cast<Cq*>(cq);
}
inline Cq& of(ibv_cq* cq) {
  return of(reinterpret_cast<ibv_cq_ex*>(cq));
}
inline Qp& of(ibv_qp_ex* qp) {
  return *static_cast<Qp*>(qp);
}
inline Qp& of(ibv_qp* qp) {
  return of(reinterpret_cast<ibv_qp_ex*>(qp));
}

inline ibv_cq* base(Cq& cq) {
  return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(&cq));
}
inline ibv_qp* base(Qp& qp) {
  return &qp.qp_base;
}

}  // namespace weft::soft
