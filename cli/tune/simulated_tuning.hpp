// Simulated tuning: searches for the fastest algorithm and segment of a collective at each size, by
// experiments on a simulated cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/scenario.hpp"
#include "cli/terminal/json.hpp"
#include "cli/tune/payback.hpp"
#include "cli/tune/tune_options.hpp"
#include "cli/tune/tuning_page.hpp"
#include "tune/decision_table.hpp"
#include "tune/experiments/experiment.hpp"
#include "tune/facts.hpp"

namespace weft::cli {

class SimulatedTuning {
 public:
  /// UsageError names the option that is wrong.
  explicit SimulatedTuning(const TuneOptions& options);
  SimulatedTuning(const SimulatedTuning&) = delete;
  SimulatedTuning& operator=(const SimulatedTuning&) = delete;

  void run();

  tune::DecisionTable table() const;
  Json to_json_form() const;
  std::string to_text() const;
  /// The winners on smaller machines, too, which takes more simulations.
  TuningPage page();

 private:
  void read_search();
  tune::Point point_at(std::uint64_t bytes) const;
  void hold_out(const tune::Measure& measure);
  std::string title() const;
  std::string costs() const;
  std::string about() const;
  std::string algorithm(std::size_t i) const;
  std::uint64_t experiments() const;
  std::size_t all_experiments() const;

  const TuneOptions& options_;
  Scenario scenario_;
  plan::Problem like_;
  tune::Facts facts_;
  std::string name_;
  nic_profiles::Profile prior_;
  tune::Laboratory pipelines_;
  tune::Search search_;
  std::vector<tune::Point> points_;
  std::optional<tune::Laboratory> laboratory_;
  std::vector<tune::Found> found_;
  std::vector<tune::Rule> rules_;
  int border_experiments_ = 0;  // for the borders between sizes
  std::size_t resumed_ = 0;
  std::optional<Payback> payback_;
};

}  // namespace weft::cli
