// Host target: rank 0's way to measure the collectives of an MPI job, while the others serve().
#pragma once

#include <string>
#include <vector>

#include "nic_profiles/fit/estimate.hpp"
#include "tune/hosts/host_job.hpp"

namespace weft::tune {

/// Used by rank 0. Ends the process, with a line that names the call, where a call does not end in
/// kDeadline seconds: ranks that wait in the MPI can be ended in no other way.
class HostTarget {
 public:
  static constexpr unsigned kDeadline = 120;

  explicit HostTarget(HostJob& job) : job_(job) {}
  HostTarget(const HostTarget&) = delete;
  HostTarget& operator=(const HostTarget&) = delete;
  /// Ends serve() on the other ranks.
  ~HostTarget();

  /// The host of each rank, in rank order.
  std::vector<std::string> hosts();
  /// Whether the MPI of every rank does such a call by this algorithm.
  bool can_run(const HostCall& call);
  /// Whether a reduction by it is right on every rank for an operation that is not commutative.
  bool keeps_order(const HostCall& call);
  /// The median of calls, each as long as on the rank where it took longest: ten, then more up to
  /// sixty and a second while the interval is not tight. Error where an MPI refuses.
  nic_profiles::Estimate time(const HostCall& call);

 private:
  std::vector<std::string> ask(const std::string& task);

  HostJob& job_;
};

/// Takes part in the calls of rank 0, until its HostTarget is destroyed.
void serve(HostJob& job);

}  // namespace weft::tune
