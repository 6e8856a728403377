// Options of weft tune, for its two grounds: the simulator, and the ranks of an MPI job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/scenario.hpp"
#include "tune/experiments/grid_reduction.hpp"

namespace weft::cli {

struct TuneOptions {
  ScenarioOptions scenario;
  Text experiments, grid, prior, doubt, least_segment, table, journal, format, html, trace;
  std::vector<std::string> merge;
  bool json = false;
  bool held_out = false;

  int grid_step() const;
  std::uint64_t least_segment_bytes() const;
  /// How far predictions may be off, as a part; nullopt: as is learnt.
  std::optional<double> doubt_part() const;
};

/// The search of this name that needs nothing but the laboratory; nullopt: there is none.
std::optional<tune::Search> plain_search(std::string_view name);

/// The search by predictions. Without a doubt it learns it, from 25 % on.
tune::Search search_by(tune::Measure predict, std::optional<double> doubt);

/// All sizes of a decision table, joined by commas.
std::string all_sizes();

/// weft tune --format: the MPI's own algorithms. An Exit.
int tune_host(const TuneOptions& options);

/// Whether this process is one of the ranks that a launcher has started.
bool is_rank_of_a_job();
/// weft's own algorithms on these ranks. An Exit.
int tune_ranks(const TuneOptions& options);

}  // namespace weft::cli
