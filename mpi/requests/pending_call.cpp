#include "mpi/requests/pending_call.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "base/give_way.hpp"
#include "mpi/calls/passed.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/host/errors.hpp"
#include "mpi/requests/pending_queue.hpp"
#include "mpi/requests/recycled.hpp"

namespace weft::mpi {

namespace {

// How often a thread that drains asks before it moves the host on, too, and gives its core away.
constexpr int kTurnsPerYield = 16;

/// The queues that are not empty.
class ActiveQueues {
 public:
  void add(std::shared_ptr<PendingQueue> queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(std::move(queue));
  }
  void remove(const PendingQueue* queue) {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [queue](const auto& one) { return one.get() == queue; });
  }
  std::shared_ptr<PendingQueue> at(std::size_t place) {
    const std::lock_guard lock(mutex_);
    return place < queues_.size() ? queues_[place] : nullptr;
  }

 private:
  CallMutex mutex_;
  std::vector<std::shared_ptr<PendingQueue>> queues_;
};

ActiveQueues& active_queues() {
  static auto* one = new ActiveQueues;  // threads may look to the end
  return *one;
}

// Whether this thread is in progress(): it runs one fiber at a time.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool in_progress = false;

/// Scope of a call of the host on a fiber that does not wait: the host returns its errors on the
/// communicator. A handler of the program might leave by longjmp or an exception, so it is called
/// where the program's request is completed (failures.hpp). Likewise on MPI_COMM_WORLD: to Open MPI
/// its nonblocking collectives are of no communicator.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm) : lock_(mutex()), comms_{MPI_COMM_WORLD, comm} {
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      PMPI_Comm_get_errhandler(comms_[i], &handlers_[i]);
      PMPI_Comm_set_errhandler(comms_[i], MPI_ERRORS_RETURN);
    }
  }
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;
  ~ErrorsReturned() {
    for (std::size_t i = comms_.size(); i-- > 0;) {
      PMPI_Comm_set_errhandler(comms_[i], handlers_[i]);
      PMPI_Errhandler_free(&handlers_[i]);
    }
  }

 private:
  static std::mutex& mutex() {
    static auto& one = *new std::mutex;  // threads may look to the end
    return one;
  }

  const std::lock_guard<std::mutex> lock_;
  const std::array<MPI_Comm, 2> comms_;
  std::array<MPI_Errhandler, 2> handlers_ = {};
};

template <class IsOver>
void wait_until(IsOver is_over) {
  World* world = World::get();
  for (int turn = 1; !is_over(); ++turn) {
    if (progress() || turn % kTurnsPerYield != 0) continue;
    const Inside guard;
    world->post().progress();
    ::sched_yield();
  }
}

}  // namespace

void PendingCall::then(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_done()) {
      then_ = std::move(call);
      return;
    }
  }
  call();
}

void PendingCall::record() noexcept {
  Recorder* const recorder = Recorder::get();
  if (recorder != nullptr && recorded_) recorder->add(*recorded_, began_, ticks());
}

void PendingCall::end() {
  record();
  if (code_ != MPI_SUCCESS) {
    comm_kept_.hold({.types = {}, .op = MPI_OP_NULL, .comm = comm_});
    request_counts.has_failed.store(true, std::memory_order_relaxed);
  }
  work_.reset();
  fiber_.reset();
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    is_done_.store(true, std::memory_order_release);
    call = std::move(then_);
  }
  if (call) call();
}

/// True when it is over.
bool PendingCall::resume(bool is_starting) {
  is_starting_ = is_starting;
  if (!fiber_) {
    try {
      fiber_.emplace([this] { run(); });
    } catch (const std::exception&) {
      return false;  // no memory now; all ranks wait for this one
    }
  }
  fiber_->resume();
  is_starting_ = false;
  return fiber_->is_done();
}

/// Counts it among the calls in flight. Whether it may be made like an earlier one, without a look.
bool PendingCall::may_repeat(Attached* attached) noexcept {
  InFlight* const in_flight = attached == nullptr ? nullptr : attached->in_flight.get();
  if (in_flight == nullptr || work_->is_of_host()) return true;
  in_flight->count(others_);
  return !in_flight->is_due() && !in_flight->is_left();
}

void PendingCall::run() noexcept {
  World& world = *World::get();
  Attached* const own = work_->own();
  if (may_repeat(own != nullptr ? own : world.communicators().of(comm_))) {
    if (const auto outcome = work_->repeat()) {
      code_ = outcome->error_code();
      return;
    }
  }
  if (Call* call = work_->make_call()) {
    const Outcome outcome = own != nullptr ? attempt(*call, world, *own) : attempt(*call, world);
    if (Recorder* const recorder = Recorder::get()) {
      if (Attached* const attached = world.communicators().of(comm_)) {
        recorded_ = recorded_kind(*recorder, *call, *attached, true, !outcome.passed);
      }
    }
    if (!outcome.passed) {
      code_ = outcome.error_code();
      if (code_ == MPI_SUCCESS) work_->keep_for_repeats(*call);
      return;
    }
    count_passed(*call, world, *outcome.passed);
  }
  is_for_host_ = is_starting_ && hands_back_;
  if (!is_for_host_) wait_for_host();
}

void PendingCall::wait_for_host() noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const ErrorsReturned returned(comm_);
    code_ = work_->start_at_host(&request);
  }
  if (code_ != MPI_SUCCESS) return;
  // This calls no handler and tells no error of the collective.
  int done = 0;
  while (PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    give_way();
  }
  const ErrorsReturned returned(comm_);
  code_ = PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

namespace {
std::shared_ptr<PendingCall> make(std::shared_ptr<Work> work, bool hands_back, std::size_t others) {
  return std::allocate_shared<PendingCall>(Recycled<PendingCall>(), std::move(work), hands_back,
                                           others);
}
}  // namespace

std::shared_ptr<PendingCall> PendingQueue::start(std::shared_ptr<Work> work, bool hands_back) {
  auto call = make(std::move(work), hands_back, size());
  const std::lock_guard running(running_);
  if (is_empty()) {
    const bool over = call->resume(true);
    if (call->is_for_host_) {
      call->record();
      return nullptr;
    }
    if (over) {
      call->end();
      return call;
    }
    active_queues().add(shared_from_this());
  }
  push(call, false);
  return call;
}

std::shared_ptr<PendingCall> PendingQueue::append(std::shared_ptr<Work> work) {
  auto call = make(std::move(work), false, size());
  return push(call, true) ? call : nullptr;
}

bool PendingQueue::go_on() {
  bool moved = false;
  while (true) {
    std::shared_ptr<PendingCall> call;
    {
      const std::unique_lock running(running_, std::try_to_lock);
      if (!running) return moved;
      call = first();
      if (call == nullptr || !call->resume(false)) return moved;
      const std::lock_guard lock(mutex_);
      calls_.pop_front();
      if (calls_.empty()) active_queues().remove(this);
    }
    moved = true;
    // Without the lock: what the program has freed is freed now, perhaps the communicator.
    call->end();
    request_counts.pending.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::size_t PendingQueue::size() {
  const std::lock_guard lock(mutex_);
  return calls_.size();
}

std::shared_ptr<PendingCall> PendingQueue::first() {
  const std::lock_guard lock(mutex_);
  return calls_.empty() ? nullptr : calls_.front();
}

bool PendingQueue::push(std::shared_ptr<PendingCall> call, bool behind_others) {
  const std::lock_guard lock(mutex_);
  if (behind_others && calls_.empty()) return false;
  calls_.push_back(std::move(call));
  request_counts.pending.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::shared_ptr<PendingCall> start(std::shared_ptr<Work> work, bool hands_back) {
  World* world = World::get();
  if (world == nullptr || Inside::here()) return nullptr;
  const Inside guard;
  Attached* attached = work->own();
  if (attached == nullptr) attached = world->communicators().of(work->comm());
  if (attached == nullptr) return nullptr;
  if (attached->pending == nullptr) {
    attached->pending = std::make_shared<PendingQueue>();
    world->post().set_others(&progress);
  }
  const std::shared_ptr<PendingQueue> queue = attached->pending;  // lives on if the work goes
  return queue->start(std::move(work), hands_back);
}

bool progress() noexcept {
  if (!is_any_pending() || in_progress || gives_way()) return false;
  in_progress = true;
  bool moved = false;
  {
    const Inside guard;
    for (std::size_t place = 0;; ++place) {
      const auto queue = active_queues().at(place);
      if (queue == nullptr) break;
      moved |= queue->go_on();
    }
  }
  in_progress = false;
  return moved;
}

void drain_pending(MPI_Comm comm) {
  World* world = World::get();
  if (world == nullptr || Inside::here() || comm == MPI_COMM_NULL) return;
  std::shared_ptr<PendingQueue> queue;
  {
    const Inside guard;
    const Attached* attached = world->communicators().of(comm);
    if (attached != nullptr) queue = attached->pending;
  }
  if (queue != nullptr) {
    wait_until([&] { return queue->is_empty(); });
  }
}

void drain_for_a_while() {
  using std::chrono::microseconds;
  using std::chrono::steady_clock;
  constexpr microseconds kMost(2'000'000);
  constexpr microseconds kLeast(100);
  // Where it was in vain it is shorter the next time: a call may be pending for a long time.
  static std::atomic<microseconds> patience = kMost;
  const auto end = steady_clock::now() + patience.load(std::memory_order_relaxed);
  wait_until([end] { return !is_any_pending() || steady_clock::now() >= end; });
  patience = is_any_pending() ? std::max(patience.load() / 2, kLeast)
                              : std::min(patience.load() * 2, kMost);
}

void drain_all() {
  if (World::get() == nullptr) return;
  wait_until([] { return !is_any_pending(); });
}

}  // namespace weft::mpi
