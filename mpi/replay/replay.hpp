// Replay: what the collectives of a recording would take on a machine, by the simulator, and what
// becomes of the program's waiting there. A value; tables and pages are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/recording/recording.hpp"
#include "mpi/replay/scaling.hpp"
#include "mpi/summary/summary.hpp"
#include "sim/hardware.hpp"
#include "tune/facts.hpp"

namespace weft::mpi {

/// The machine for which times are predicted.
struct Target {
  hierarchy::Machine machine;
  std::string adapter;  // the name of the profile
  sim::Hardware hardware;
  tune::Direct direct = tune::Direct::none;
  bool deterministic = false;
  Scaling scaling = Scaling::none;
};

/// An algorithm for calls.
struct Choice {
  std::string algorithm;
  double seconds = 0;     // of a call
  bool simulated = true;  // else estimated, as it cannot be the fastest or takes too long to
  bool taken = false;     // by weft there, as it chooses today: one of the choices
};

/// Calls of one collective and size on communicators of one shape. Seconds are those of a rank, the
/// mean of all, of all its calls.
struct ReplayedCalls {
  std::string collective;
  Shape here, there;
  std::optional<std::uint64_t> bytes_here, bytes_there;  // of a block or vector; where known
  bool irregular = false;                                // the bytes are the mean
  double calls = 0;                                      // of a rank, the mean
  double measured_seconds = 0, measured_waiting_seconds = 0;
  double seconds = 0, waiting_seconds = 0;  // predicted
  std::vector<Choice> choices;              // the fastest first; empty: the time is as measured
  std::string as_measured;                  // why it is

  /// Null: there are no choices.
  const Choice* taken() const;
};

/// A part of a rank's time in each of some equal parts of the predicted run.
struct RankTimeline {
  int rank = 0;
  std::vector<double> waiting, moving;  // 0 to 1
};

struct Times {
  double run = 0;  // from MPI_Init to MPI_Finalize, of the rank that took longest
  double calls = 0, waiting = 0, work = 0;  // of a rank, the mean of all
};

struct Replay {
  std::string program, host, machine_here, machine_there, adapter;
  Scaling scaling = Scaling::none;
  Times measured, predicted;
  std::vector<ReplayedCalls> calls;    // those that take longest there first
  std::vector<RankTimeline> timeline;  // of at most kMostTimelines ranks
  std::vector<std::string> notes;      // what holds the numbers back
  std::uint64_t simulations = 0;       // of calls that differ
  double requests = 0;                 // calls of a rank that are not blocking: in no time above

  static constexpr std::size_t kMostTimelines = 16;
  static constexpr std::size_t kTimelineParts = 120;
};

/// `progress` is called with the simulations done, and of all. UsageError where the recording says
/// too little: the machine is not known.
Replay replay(const Recording& recording, const Target& target,
              const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

/// The machine where it was recorded. UsageError where it is not known.
hierarchy::Machine recorded_machine(const Recording& recording);

/// For a terminal: the busiest `most_lines` of the calls.
std::string to_table(const Replay& replay, std::size_t most_lines = 24);
/// One HTML page that needs nothing else.
std::string to_html(const Replay& replay);
/// One sentence: what scales how.
std::string scaling_rule(const Replay& replay);

}  // namespace weft::mpi
