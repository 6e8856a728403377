// Simulated choice: the simulator predicts the time of each candidate, and the fastest is taken.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/problem.hpp"
#include "sim/simulator.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

struct Prediction {
  Algorithm algorithm;
  bool simulated = false;
  double time_ns = 0;          ///< simulated; else estimated
  double bound_ns = 0;         ///< lower bound of the time
  int ranks = 0;               ///< simulated: all, or one for each class
  bool counted = false;        ///< whether messages and bytes are known
  std::uint64_t messages = 0;  ///< between nodes
  std::uint64_t wire_bytes = 0;
  std::array<double, sim::kCosts> breakdown_ns = {};  ///< by sim::Cost, if asked for
};

struct ChoiceOptions {
  static constexpr std::uint64_t kAllOps = UINT64_MAX;

  /// The budget of all simulations of all ranks, in ops of plans: about a microsecond each.
  /// Candidates for which too little is left are estimated: the likely time of their busiest core
  /// and adapter (see Bound), times the largest factor by which a simulation exceeded its own.
  std::uint64_t most_ops = kAllOps;
  /// Simulates also candidates whose bound is above the best time found, to show them to people.
  bool exhaustive = false;
  /// Machines of more ranks have one rank of each class simulated (sim/classes.hpp), where there
  /// are classes that are found soon, and whose likely time (see Bound) may be the best. All
  /// ranks of other candidates are simulated within 8 ops a rank for all of them, also where the
  /// choice is exhaustive. The others are estimated, and come behind all that are simulated.
  int most_ranks_whole = kMostRanksWhole;
  static constexpr int kMostRanksWhole = 512;
  bool breakdown = false;
  /// Called now and then with the steps done, and of all.
  std::function<void(int done, int total)> progress = nullptr;
};

/// Predictions for all candidates, the fastest first; of large machines, where none is simulated,
/// the one of the fixed rules. Never empty: some algorithm always may run.
/// The same arguments give the same on every machine. That ranks share cores counts for alltoall
/// only: other collectives would get slower algorithms by it (docs/decisions.md). UsageError where
/// problem and machine do not fit together.
std::vector<Prediction> choose(const plan::Problem& problem, const Facts& facts,
                               const sim::Hardware& hardware, const ChoiceOptions& options = {});

/// `hardware` as choose() simulates it: without the properties that do not count for the problem.
sim::Hardware counted(const plan::Problem& problem, const Facts& facts,
                      const sim::Hardware& hardware);

/// The cost on which a simulated prediction with a breakdown spends most.
sim::Cost dominant(const Prediction& prediction);

/// One sentence on why the first of `predictions` is the fastest, compared with the best one of
/// another scheme. Those that are simulated must have breakdowns.
std::string explain(const std::vector<Prediction>& predictions);

}  // namespace weft::tune
