// Simulated experiments: the simulator as what is measured, and as what predicts.
#pragma once

#include <string>

#include "sim/hardware.hpp"
#include "tune/experiments/experiment.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// The algorithm of an experiment, as the registry knows it.
Algorithm algorithm_of(const Experiment& experiment);

/// An algorithm's name without the segment among its parameters: "leader:leaders=2,segment=64" is
/// "leader:leaders=2".
std::string method_of(const std::string& name);
/// The experiment that an algorithm is: its segment apart from its other parameters.
Experiment experiment_of(plan::Collective collective, std::uint64_t bytes,
                         const Algorithm& algorithm);

/// The candidates for a problem as methods, each once, without their segments: a point of
/// `problem`'s collective and size. No segment is less than an element.
Point point_of(const plan::Problem& problem, const Facts& facts, std::uint64_t least_segment);

/// Simulates experiments with problems like `like` (resized()). What it refers to must outlive it.
Measure simulated(const plan::Problem& like, const Facts& facts, const sim::Hardware& hardware);

/// The same with a chain of ranks, one a node, in place of each method: as many as on the longest
/// path of a chain of all ranks, or of a tree of them.
Measure simulated_pipeline(const plan::Problem& like, const Facts& facts,
                           const sim::Hardware& hardware);

}  // namespace weft::tune
