// Searches: which method and segment is the fastest at a point, by few experiments. The first four
// are those of Vadhiyar, Fagg and Dongarra, "Towards an Accurate Model for Collective
// Communications" (2004), section 3.2, by their names.
//
// Pure but for what the laboratory measures: the same times give the same result.
#pragma once

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

}  // namespace weft::tune
