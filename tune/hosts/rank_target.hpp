// Rank target: rank 0's way to measure the collectives of a job, while the others serve().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nic_profiles/fit/estimate.hpp"
#include "tune/hosts/measured_job.hpp"

namespace weft::tune {

/// Used by rank 0. Ends the process, with a line that names the call, where a call does not end in
/// kDeadline seconds: ranks that wait in the MPI can be ended in no other way.
class RankTarget {
 public:
  static constexpr unsigned kDeadline = 120;

  explicit RankTarget(MeasuredJob& job) : job_(job) {}
  RankTarget(const RankTarget&) = delete;
  RankTarget& operator=(const RankTarget&) = delete;
  /// Ends serve() on the other ranks.
  ~RankTarget();

  /// The host of each rank, in rank order.
  std::vector<std::string> hosts();
  /// Whether every rank makes such a call by this algorithm.
  bool can_run(const MeasuredCall& call);
  /// Whether a reduction by it is right on every rank for an operation that is not commutative.
  bool keeps_order(const MeasuredCall& call);
  /// The median of calls, each as long as on the rank where it took longest: ten, then more up to
  /// sixty and a second while the interval is not tight. Nullopt where a rank cannot make it.
  std::optional<nic_profiles::Estimate> time(const MeasuredCall& call);

 private:
  std::vector<std::string> ask(const std::string& task);

  MeasuredJob& job_;
};

/// Takes part in the calls of rank 0, until its RankTarget is destroyed.
void serve(MeasuredJob& job);

}  // namespace weft::tune
