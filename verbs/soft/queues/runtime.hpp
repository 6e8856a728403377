// Runtime of the device in this process: the objects that the program holds, the faults in force,
// and the progress thread, which retries sends and serves what peers ask of those objects.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "verbs/soft/faults/active_faults.hpp"
#include "verbs/soft/process/process.hpp"

namespace weft::soft {

struct Context;
struct Qp;
struct Cq;
struct Srq;

/// A process has one, made when the first device is opened and kept to the process's end (its
/// threads run until then). A forked child starts without one; the inherited one belongs to the
/// parent.
class Runtime {
 public:
  /// SystemError when no slot is free or a resource is refused.
  static Runtime& instance();

  Process& process() noexcept { return process_; }

  std::atomic<std::uint64_t> qps_made{0};
  ActiveFaults faults;

  void add(Context& context);
  void remove(Context& context);
  void add(Qp& qp);
  void remove(Qp& qp);
  void add(Cq& cq);
  void remove(Cq& cq);
  void add(Srq& srq);
  void remove(Srq& srq);
  int queue_pairs() noexcept;

  /// Retires all QPs, CQs and SRQs of a context that is closed with objects left.
  void abandon(Context& context) noexcept;

  /// Passes through every lock under which regions of this process are used: when it returns, all
  /// operations that began before the call have ended.
  void quiesce() noexcept;

  /// Serves what peers asked of this process's objects; any thread may call it.
  void serve_attention() noexcept;
  /// Retries the queued sends of QPs whose completions go to `cq`.
  void retry_sends(const Cq& cq) noexcept;

  /// Puts the faults of `plan` in force instead of those before. Ports keep their state unless the
  /// plan changes them at once.
  void inject(FaultPlan plan);
  /// Takes the port of `device` down for `duration_ns` (0: until port_up), or brings it up. The
  /// device's contexts get the event.
  void port_down(unsigned device, std::int64_t duration_ns) noexcept;
  void port_up(unsigned device) noexcept;

 private:
  Runtime() = default;
  void start();
  void progress_loop() noexcept;
  bool serve_queues() noexcept;
  /// Brings up the ports whose time is over; true while one has time left.
  bool serve_ports() noexcept;
  void raise_port_event(unsigned device, ibv_event_type type) noexcept;

  Process process_;
  std::shared_mutex objects_mutex_;
  std::vector<Qp*> qps_;
  std::vector<Cq*> cqs_;
  std::vector<Srq*> srqs_;
  std::mutex contexts_mutex_;
  std::vector<Context*> contexts_;
};

}  // namespace weft::soft
