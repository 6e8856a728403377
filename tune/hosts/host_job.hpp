// Host job: the ranks of an MPI job, and the collectives of their MPI by one of its own algorithms
// at a time. Implemented by the plugin that the tool opens under the MPI's launcher.
#pragma once

#include <string>
#include <vector>

#include "tune/hosts/measured_job.hpp"

namespace weft::tune {

/// Calls name collectives as MPI does: "bcast".
class HostJob : public MeasuredJob {
 public:
  virtual std::string version() const = 0;  ///< "Open MPI v4.1.4", one line
  virtual std::string library() const = 0;  ///< path of the MPI's library
  /// Names of the algorithms that the MPI can be told to use, in the order of their numbers; the
  /// first stands for its own rules. Empty where there are none.
  virtual std::vector<std::string> algorithms(const std::string& collective) const = 0;
};

}  // namespace weft::tune
