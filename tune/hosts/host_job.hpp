// Host job: the ranks of an MPI job, and the collectives of their MPI by one of its own algorithms
// at a time. Implemented by the plugin that the tool opens under the MPI's launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::tune {

/// One way in which the MPI does a collective. A value.
struct HostCall {
  std::string collective;     ///< as MPI names it: "bcast"
  std::uint64_t bytes = 0;    ///< of a block, or of the vector
  int algorithm = 0;          ///< its place in HostJob::algorithms(); 0: by the MPI's own rules
  std::uint64_t segment = 0;  ///< bytes; 0: all at once
  /// As for a program that sets nothing, where that is not the same as the MPI's own rules (in
  /// MPICH devices have ways of their own in front of them). The algorithm is 0.
  bool untouched = false;
};

/// All functions but the descriptions are collective.
class HostJob {
 public:
  virtual ~HostJob() = default;
  virtual Bootstrap& bootstrap() = 0;

  virtual std::string version() const = 0;  ///< "Open MPI v4.1.4", one line
  virtual std::string library() const = 0;  ///< path of the MPI's library
  virtual std::string host() const = 0;     ///< of this rank
  /// Names of the algorithms that the MPI can be told to use; the first stands for its own rules.
  /// Empty where there are none.
  virtual std::vector<std::string> algorithms(const std::string& collective) const = 0;

  /// Makes ready for run() and calls once. False where this rank's MPI refuses.
  virtual bool prepare(const HostCall& call) = 0;
  /// Nanoseconds that each of so many calls took on this rank. Ranks begin each together.
  virtual std::vector<double> run(int calls) = 0;
  /// Of a reduction: whether this rank's result is right for an operation that is not commutative.
  virtual bool keeps_order(const HostCall& call) = 0;
};

}  // namespace weft::tune
