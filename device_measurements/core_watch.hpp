// Core watch: what a rank, and what all programs, have had of the cores.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

namespace weft::device_measurements {

/// Of one rank, since its CoreWatch was asked last. Sent as bytes: all ranks run the same build.
struct CoreTimes {
  pid_t process = 0;
  double task_ns = 0;    ///< from begin() to end()
  double waited_ns = 0;  ///< of that, in which the thread was ready to run and had no core
  double preempted = 0;  ///< times that the thread lost its core in between
  int cores = 0;         ///< that are looked at; 0: the kernel does not say
  double window_ns = 0;  ///< from the last end() to this one, the rest is of it; 0: there was none
  double ran_ns = 0;     ///< of a core, by this process
  double ran_user_ns = 0;  ///< of it, outside of the kernel
  // By all processes, on the cores that are looked at, as counted by the kernel's clock ticks.
  double all_ns = 0;
  double all_user_ns = 0;
  double stolen_ns = 0;  ///< that a hypervisor did not give
};

/// What the kernel counts a second of a core in: times of all processes are whole multiples.
double tick_ns();

/// Looks at the counters of the kernel around each task of a rank, on the rank's thread. A counter
/// that the kernel does not have stays 0.
class CoreWatch {
 public:
  void begin();
  /// `cores`: those to look at; empty: all of the machine.
  CoreTimes end(const cpu_set_t& cores);

 private:
  /// Counters as they stand.
  struct Look {
    std::int64_t now_ns = 0;
    double waited_ns = 0, preempted = 0;
    double ran_ns = 0, ran_user_ns = 0;
    double all_ns = 0, all_user_ns = 0, stolen_ns = 0;
    int cores = 0;
  };
  static void look_at_thread(Look& look);
  static void look_at_machine(Look& look, const cpu_set_t& cores);

  Look begin_;
  Look end_;  // the last one; without a time: there was none
  cpu_set_t cores_{};
};

}  // namespace weft::device_measurements
