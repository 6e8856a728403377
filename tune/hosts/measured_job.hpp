// Measured job: the ranks of a job, and collectives on them by one algorithm at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::tune {

/// One way in which a collective is done. A value. No text has spaces.
struct MeasuredCall {
  std::string collective;     ///< as those whose algorithms are measured name it
  std::uint64_t bytes = 0;    ///< of a block, or of the vector
  std::string algorithm;      ///< as they name it; empty: by their own choice
  std::uint64_t segment = 0;  ///< bytes, where it is not part of the name; 0: all at once
  /// As for a program that sets nothing, where that is not the same as the MPI's own rules (in
  /// MPICH devices have ways of their own in front of them). There is no algorithm.
  bool untouched = false;
};

/// All functions but host() are collective.
class MeasuredJob {
 public:
  virtual ~MeasuredJob() = default;
  virtual Bootstrap& bootstrap() = 0;

  virtual std::string host() const = 0;  ///< of this rank
  /// Makes ready for run() and calls once. False where this rank cannot make such a call.
  virtual bool prepare(const MeasuredCall& call) = 0;
  /// Nanoseconds that each of so many calls took on this rank. Ranks begin each together.
  virtual std::vector<double> run(int calls) = 0;
  /// Of a reduction: whether this rank's result is right for an operation that is not commutative.
  virtual bool keeps_order(const MeasuredCall& /*call*/) { return true; }
};

}  // namespace weft::tune
