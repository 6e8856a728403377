#include "verbs/soft/queues/runtime.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "verbs/soft/process/device_settings.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/send.hpp"

namespace weft::soft {

namespace {

// Never destroyed: its threads run until the process ends.
std::mutex instance_mutex;
Runtime* the_instance = nullptr;

void before_fork() noexcept {
  instance_mutex.lock();
  if (the_instance != nullptr) the_instance->process().before_fork();
}

void after_fork_in_parent() noexcept {
  if (the_instance != nullptr) the_instance->process().after_fork_in_parent();
  instance_mutex.unlock();
}

void after_fork_in_child() noexcept {
  if (the_instance != nullptr) the_instance->process().after_fork_in_child();
  the_instance = nullptr;
  instance_mutex.unlock();
}

}  // namespace

Runtime& Runtime::instance() {
  std::lock_guard lock(instance_mutex);
  if (the_instance == nullptr) {
    static const int registered =
        ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (registered != 0) throw SystemError("pthread_atfork", registered);
    auto* runtime = new Runtime();
    try {
      runtime->start();
    } catch (...) {
      // A thread may already use it, so the object stays; the slot is given back.
      runtime->process_.give_back_slot();
      throw;
    }
    the_instance = runtime;
    log::info("software device: slot {}", runtime->process_.slot());
  }
  return *the_instance;
}

void Runtime::start() {
  process_.start_agent();
  start_thread(
      "weft-progress", [](void* self) { static_cast<Runtime*>(self)->progress_loop(); }, this);
  if (!settings().faults.empty()) inject(settings().faults);
}

void Runtime::add(Context& context) {
  std::lock_guard lock(contexts_mutex_);
  contexts_.push_back(&context);
}
void Runtime::remove(Context& context) {
  std::lock_guard lock(contexts_mutex_);
  std::erase(contexts_, &context);
}
void Runtime::add(Qp& qp) {
  std::lock_guard lock(objects_mutex_);
  qps_.push_back(&qp);
}
void Runtime::remove(Qp& qp) {
  std::lock_guard lock(objects_mutex_);
  std::erase(qps_, &qp);
}
int Runtime::queue_pairs() noexcept {
  std::shared_lock lock(objects_mutex_);
  return static_cast<int>(qps_.size());
}
void Runtime::add(Cq& cq) {
  std::lock_guard lock(objects_mutex_);
  cqs_.push_back(&cq);
}
void Runtime::remove(Cq& cq) {
  std::lock_guard lock(objects_mutex_);
  std::erase(cqs_, &cq);
}
void Runtime::add(Srq& srq) {
  std::lock_guard lock(objects_mutex_);
  srqs_.push_back(&srq);
}
void Runtime::remove(Srq& srq) {
  std::lock_guard lock(objects_mutex_);
  std::erase(srqs_, &srq);
}

void Runtime::abandon(Context& context) noexcept {
  std::lock_guard lock(objects_mutex_);
  std::erase_if(qps_, [&](Qp* qp) {
    if (&of(qp->qp_base.context) != &context) return false;
    std::lock_guard sends(qp->send_mutex);
    reset_qp(*qp);
    return true;
  });
  std::erase_if(cqs_, [&](const Cq* cq) { return &of(cq->context) == &context; });
  std::erase_if(srqs_, [&](const Srq* srq) { return &of(srq->context) == &context; });
}

void Runtime::quiesce() noexcept {
  std::shared_lock lock(objects_mutex_);
  for (Qp* qp : qps_) {
    { std::lock_guard sends(qp->send_mutex); }
    RobustGuard responder(qp->block->responder);
    if (responder.holder_died()) repair_receive(*process_.self(), *qp->block);
  }
}

}  // namespace weft::soft
