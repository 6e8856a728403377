// Searches: which method and segment is the fastest at a point, by few experiments. The first four
// are those of Vadhiyar, Fagg and Dongarra, "Towards an Accurate Model for Collective
// Communications" (2004), section 3.2, by their names.
//
// Pure but for what the laboratory measures: the same times give the same result.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tune/experiments/experiment.hpp"

namespace weft::tune {

/// Every method with every segment: the paper's linear search.
Found exhaustive(const Point& point, Laboratory& laboratory);

/// Modified gradient descent (MGD): each method from its largest segment down, until `patience`
/// segments in a row were no better than the best before them.
Found gradient_descent(const Point& point, Laboratory& laboratory, int patience = 2);

/// When scanning gives a method up. The paper names the rules, not their numbers.
struct Scanning {
  int patience = 2;        ///< as of gradient_descent()
  double threshold = 1.5;  ///< times the best: what is not expected below that is given up
  int ahead = 3;           ///< segments for which the rate of change is expected to go on
};

/// Scanning (SMGD): all methods at once, always that whose rate of change promises most a segment
/// further; methods that promise too little are given up.
Found scanning(const Point& point, Laboratory& laboratory, const Scanning& how = {});

/// By the pipeline: the segment of each method by gradient descent over a pipeline as long as the
/// longest path of the method's tree, which `pipelines` measures in its place; then the method
/// itself once with that segment and once without.
Found by_pipeline(const Point& point, Laboratory& laboratory, Laboratory& pipelines);

/// By predictions that are wrong by a factor of up to 1 + `doubt` either way: only what may be the
/// fastest under that is measured, and nothing where that is one alone, whose prediction is the
/// time then.
Found by_prediction(const Point& point, Laboratory& laboratory, const Measure& predict,
                    double doubt);

/// How far predictions are off, as learnt from what was measured. A factor that all have in common
/// is no error: it changes no choice.
class Doubt {
 public:
  /// `most`: what is taken until enough is known, and never exceeded.
  explicit Doubt(double most) : most_(most) {}

  void learn(double predicted, double measured);
  /// What comes is of this size: what was learnt at sizes further away than a factor of 4 does not
  /// count there.
  void go_to(std::uint64_t bytes);
  /// Twice the largest error of the last that were learnt, and 4 % at least.
  double now() const;
  /// By how much the times of two may differ from what is predicted: of what is not yet learnt both
  /// may be off.
  double between() const { return is_learnt() ? 1 + now() : (1 + most_) * (1 + most_); }
  /// The factor that they have in common; 1 where nothing is known.
  double common() const;

 private:
  static constexpr std::size_t kEnough = 4;
  bool is_learnt() const { return errors_.size() >= kEnough; }
  double median() const;

  double most_;
  std::uint64_t bytes_ = 0;
  std::vector<std::pair<std::uint64_t, double>> errors_;  // by bytes; logarithms, the last ones
};

/// By predictions that are wrong by what is known of the doubt, for a choice that is slower than
/// the fastest by no more than a part `regret`: of each method the segment that is predicted to be
/// best; those predicted to be fastest are measured first, until no other can be so much faster.
/// What is measured teaches the doubt.
Found by_taught_prediction(const Point& point, Laboratory& laboratory, const Measure& predict,
                           Doubt& doubt, double regret = 0.025);

}  // namespace weft::tune
