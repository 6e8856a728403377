// Experiment: one way to do a collective of one size, whose time is measured; and the laboratory,
// which takes measurements, remembers them, and counts what they cost.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/problem.hpp"

namespace weft::tune {

/// What is measured. A value.
struct Experiment {
  plan::Collective collective = plan::Collective::broadcast;
  std::uint64_t bytes = 0;    ///< of a block, or of the vector
  std::string method;         ///< an algorithm, without a segment
  std::uint64_t segment = 0;  ///< bytes that are passed on while the next come; 0: all at once

  auto operator<=>(const Experiment&) const = default;
};

/// Seconds that one run of an experiment takes.
using Measure = std::function<double(const Experiment&)>;

/// A method to compare with others.
struct Method {
  std::string name;
  bool segmented = false;  ///< whether it may cut its data into segments
};

/// A collective of one size and the methods that may do it: a primary test of Vadhiyar, Fagg and
/// Dongarra (2004), section 3.1. Its pairs of method and segment are the secondary ones.
struct Point {
  plan::Collective collective = plan::Collective::broadcast;
  std::uint64_t bytes = 0;
  std::vector<Method> methods;      ///< not empty
  std::uint64_t least_segment = 4;  ///< a power of two
};

/// Segments of a method at a point, from the largest on: all at once (0); then, where it is
/// segmented, the powers of two below the point's bytes, down to the least segment.
std::vector<std::uint64_t> segments(const Point& point, const Method& method);

/// The fastest that a search has found at a point.
struct Found {
  std::string method;
  std::uint64_t segment = 0;
  double seconds = 0;  ///< of one run, measured or interpolated; see the search

  bool operator==(const Found&) const = default;
};

/// Takes each measurement once, and counts.
class Laboratory {
 public:
  /// `runs`: how often `measure` runs an experiment for its one time; the paper has 10.
  explicit Laboratory(Measure measure, int runs = 10) : measure_(std::move(measure)), runs_(runs) {}

  /// Seconds of one run.
  double time(const Experiment& experiment);
  /// The same for what was measured earlier, which costs nothing.
  void know(const Experiment& experiment, double seconds) { known_[experiment] = seconds; }

  int runs_each() const { return runs_; }
  int runs() const { return taken_ * runs_; }  ///< the paper's iterations
  int experiments() const { return taken_; }   ///< different ones
  double seconds() const { return seconds_; }  ///< that all runs took
  const std::map<Experiment, double>& known() const { return known_; }

 private:
  Measure measure_;
  int runs_;
  int taken_ = 0;
  double seconds_ = 0;
  std::map<Experiment, double> known_;
};

}  // namespace weft::tune
