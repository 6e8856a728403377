// Fault injection: carries the faults in force out, on requests and on ports.
#include <unistd.h>

#include <csignal>

#include "verbs/soft/process/device_settings.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/execute.hpp"
#include "verbs/soft/queues/runtime.hpp"

namespace weft::soft {

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
      context.runtime->port_down(context.device, fault.duration_ns);
      break;
    case Fault::Kind::port_up:
      context.runtime->port_up(context.device);
      break;
    case Fault::Kind::none:
      break;
  }
  send.fault = {};  // it has happened; the request may take several attempts
  return execute(qp, send.request);
}

void Runtime::inject(FaultPlan plan) {
  for (const Fault& fault : plan.at_once) {
    for (unsigned device = 0; device < settings().devices; ++device) {
      fault.kind == Fault::Kind::port_up ? port_up(device) : port_down(device, fault.duration_ns);
    }
  }
  process_.segment().header().slow_ns = static_cast<std::uint64_t>(plan.slow_ns);
  faults.replace(std::move(plan));
}

void Runtime::raise_port_event(unsigned device, ibv_event_type type) noexcept {
  std::lock_guard lock(contexts_mutex_);
  for (Context* context : contexts_) {
    if (context->device == device) context->events->raise_port(type, 1);
  }
}

void Runtime::port_down(unsigned device, std::int64_t duration_ns) noexcept {
  const std::uint64_t until =
      duration_ns == 0 ? kDownForGood : static_cast<std::uint64_t>(now_ns() + duration_ns);
  const std::uint64_t before =
      process_.segment().header().port_down_until_ns[device].exchange(until);
  if (before == 0) raise_port_event(device, IBV_EVENT_PORT_ERR);
  process_.wake_progress();
}

void Runtime::port_up(unsigned device) noexcept {
  if (process_.segment().header().port_down_until_ns[device].exchange(0) == 0) return;
  raise_port_event(device, IBV_EVENT_PORT_ACTIVE);
  process_.wake_progress();
}

bool Runtime::serve_ports() noexcept {
  bool waiting = false;
  for (unsigned device = 0; device < kMaxDevices; ++device) {
    Shared64& down_until = process_.segment().header().port_down_until_ns[device];
    std::uint64_t until = down_until.load(std::memory_order_relaxed);
    if (until == 0 || until == kDownForGood) continue;
    if (static_cast<std::uint64_t>(now_ns()) < until) {
      waiting = true;
    } else if (down_until.compare_exchange_strong(until, 0)) {
      raise_port_event(device, IBV_EVENT_PORT_ACTIVE);
    }
  }
  return waiting;
}

}  // namespace weft::soft
