// Host variables: what this MPI can be told about its collectives while it runs, by the control
// variables of its tools interface (MPI_T). All in which MPIs differ here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Before MPI_Init: settings that MPIs read there alone, so that algorithms can be set later, and
/// none of the job's own is in force.
void prepare_environment();

/// From construction to destruction the tools interface is open.
class HostVariables {
 public:
  /// Error where the MPI has no such interface.
  HostVariables();
  HostVariables(const HostVariables&) = delete;
  HostVariables& operator=(const HostVariables&) = delete;
  ~HostVariables();

  /// As tune::HostJob::algorithms().
  std::vector<std::string> algorithms(const std::string& collective) const;
  /// Makes the MPI use one in communicators made from now on (Open MPI) or in all (MPICH).
  void set(const std::string& collective, int algorithm, std::uint64_t segment);
  /// As it was at first. Does nothing where nothing was set.
  void reset();

  /// Whether algorithms count when a communicator is made, not when it is used.
  static bool counts_at_making();

 private:
  void write(const std::string& name, int value);

  std::string set_;  // collective; empty: none
};

}  // namespace weft
