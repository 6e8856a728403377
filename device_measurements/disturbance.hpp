// Disturbance: what others took of the cores of ranks while these measured.
#pragma once

#include <array>
#include <vector>

#include "device_measurements/core_watch.hpp"
#include "nic_profiles/fit/probe_target.hpp"

namespace weft::device_measurements {

/// A rank's part in a task.
struct RankTimes {
  int kernel = 0;          ///< the machine that runs it, 0 or 1
  bool is_active = false;  ///< it was busy with the task, and did not only wait for its end
  CoreTimes times;
};

/// Counts the tasks of one measurement, and of all.
class Disturbance {
 public:
  /// Ends one measurement, and begins the next.
  void begin() { now_ = {}; }
  /// A task by ranks in ascending order. `shares_core`: its ranks share cores by intention.
  void add(const std::vector<RankTimes>& ranks, bool shares_core);

  /// The part of the time that others had the cores, since begin(), 0 to 1. Where each busy rank
  /// had a core of its own: of the rank that had to wait longest. Where ranks shared cores, they
  /// waited for each other, too: of all cores, the part that neither they used nor nobody; there
  /// the kernel counts in ticks, and one tick for each core is not counted.
  double share() const;
  const nic_profiles::CoreUse& use() const { return use_; }

 private:
  /// Of the ranks of one kernel.
  struct Cores {
    double window_ns = 0, others_ns = 0, stolen_ns = 0;
    int cores = 0;
  };
  struct Sums {
    std::vector<double> task_ns, waited_ns;  // by rank, of tasks in which each had its own core
    std::array<Cores, 2> crowded;            // of tasks whose ranks shared cores
    std::array<Cores, 2> all;
  };
  void add_rank(std::size_t rank, const CoreTimes& times);

  Sums now_;
  nic_profiles::CoreUse use_;
  std::array<int, 2> cores_{};
};

}  // namespace weft::device_measurements
