#include "verbs/soft/faults/inject.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "verbs/soft/process/clock.hpp"
#include "verbs/soft/process/objects.hpp"
#include "verbs/soft/process/port_state.hpp"
#include "verbs/soft/process/process.hpp"
#include "verbs/soft/process/settings.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/execute.hpp"

namespace weft::soft {

void Faults::replace(Process& process, FaultPlan plan) {
  for (const Fault& fault : plan.at_once) {
    for (unsigned device = 0; device < settings().devices; ++device) {
      fault.kind == Fault::Kind::port_up ? process.port_up(device)
                                         : process.port_down(device, fault.duration_ns);
    }
  }
  process.segment().header().slow_ns = static_cast<std::uint64_t>(plan.slow_ns);
  std::lock_guard lock(mutex_);
  FaultSource* source = nullptr;
  if (!plan.rules.empty()) {
    all_.push_back(std::make_unique<FaultSource>());
    source = all_.back().get();
    source->plan = std::move(plan);
  }
  source_.store(source, std::memory_order_release);
}

Fault Faults::next(Qp& qp, FaultSource& source) noexcept {
  if (qp.counted_by != &source) {
    qp.counted_by = &source;
    qp.counted = 0;
  }
  const std::uint64_t number = source.messages.fetch_add(1, std::memory_order_relaxed) + 1;
  return decide(source.plan, number, qp.ordinal, ++qp.counted);
}

Outcome execute_faulty(Qp& qp, QueuedSend& send) noexcept {
  Context& context = of(qp.qp_base.context);
  const Fault fault = send.fault;
  switch (fault.kind) {
    case Fault::Kind::error:
      return {Verdict::done, fault.status, 0};
    case Fault::Kind::lost_answer: {
      Outcome outcome = execute(qp, send.request);
      if (outcome.verdict == Verdict::done) outcome.status = fault.status;
      return outcome;
    }
    case Fault::Kind::qp_error:
      context.events->raise(IBV_EVENT_QP_FATAL, base(qp));
      return {Verdict::done, IBV_WC_WR_FLUSH_ERR, 0};
    case Fault::Kind::die:
      ::kill(::getpid(), SIGKILL);
      break;
    case Fault::Kind::port_down:
      context.process->port_down(context.device, fault.duration_ns);
      break;
    case Fault::Kind::port_up:
      context.process->port_up(context.device);
      break;
    case Fault::Kind::none:
      break;
  }
  send.fault = {};  // it has happened; the request may take several attempts
  return execute(qp, send.request);
}

void Process::add(Context& context) {
  std::lock_guard lock(contexts_mutex_);
  contexts_.push_back(&context);
}

void Process::remove(Context& context) {
  std::lock_guard lock(contexts_mutex_);
  std::erase(contexts_, &context);
}

void Process::announce(unsigned device, ibv_event_type type) noexcept {
  std::lock_guard lock(contexts_mutex_);
  for (Context* context : contexts_) {
    if (context->device == device) context->events->raise_port(type, 1);
  }
}

void Process::port_down(unsigned device, std::int64_t duration_ns) noexcept {
  const std::uint64_t until =
      duration_ns == 0 ? kDownForGood : static_cast<std::uint64_t>(now_ns() + duration_ns);
  const std::uint64_t before = segment().header().port_down_until_ns[device].exchange(until);
  if (before == 0) announce(device, IBV_EVENT_PORT_ERR);
  wake_progress();
}

void Process::port_up(unsigned device) noexcept {
  if (segment().header().port_down_until_ns[device].exchange(0) == 0) return;
  announce(device, IBV_EVENT_PORT_ACTIVE);
  wake_progress();
}

/// Brings up the ports whose time is over; true while one has time left.
bool Process::attend_ports() noexcept {
  bool waiting = false;
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    Shared64& down_until = segment().header().port_down_until_ns[device];
    std::uint64_t until = down_until.load(std::memory_order_relaxed);
    if (until == 0 || until == kDownForGood) continue;
    if (static_cast<std::uint64_t>(now_ns()) < until) {
      waiting = true;
    } else if (down_until.compare_exchange_strong(until, 0)) {
      announce(device, IBV_EVENT_PORT_ACTIVE);
    }
  }
  return waiting;
}

}  // namespace weft::soft
