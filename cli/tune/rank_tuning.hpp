// Rank tuning: searches for the fastest of weft's own algorithms on the ranks of a job.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/json.hpp"
#include "cli/tune/job_plan.hpp"
#include "cli/tune/recorded_sizes.hpp"
#include "cli/tune/tuned.hpp"
#include "cli/tune/tuning_page.hpp"
#include "tune/decision_table.hpp"
#include "tune/experiments/journal.hpp"
#include "tune/hosts/rank_target.hpp"
#include "tune/ranks/own_job.hpp"

namespace weft::cli {

/// What the options ask for, before there is a job. UsageError names the option.
struct RankPlan : JobPlan {
  explicit RankPlan(const TuneOptions& options);

  std::string search_name;      ///< empty: by predictions, where a profile is known
  Text prior;                   ///< the profile that predicts; nullopt: that of the job's adapter
  Text trace;                   ///< the recording whose calls are tuned; nullopt: all sizes
  std::optional<double> doubt;  ///< as TuneOptions::doubt_part()
};

/// On rank 0, while the others serve.
class RankTuning {
 public:
  RankTuning(const RankPlan& plan, tune::OwnJob& job, const Text& journal);

  void run();

  tune::DecisionTable table() const;
  Json to_json_form() const;
  /// `path`: where the table is; nullopt: nowhere.
  std::string to_text(const Text& path) const;
  /// The winners on smaller machines, too, where a profile predicts them.
  TuningPage page();

 private:
  std::string where() const;
  std::string costs() const;
  bool gains() const;
  std::string about() const;
  void read_prior();
  tune::Search search();
  tune::Point point_at(plan::Collective collective, std::uint64_t bytes) const;
  std::vector<tune::Point> points_of(plan::Collective collective) const;
  std::vector<plan::Collective> collectives() const;
  double calls_of(plan::Collective collective, std::uint64_t bytes) const;
  double measure(const tune::Experiment& one);
  double predict(const tune::Experiment& one);
  bool gains_again(const tune::Experiment& best, const tune::Experiment& own);
  void judge(const std::vector<tune::Point>& points, const std::vector<tune::Found>& found);

  const RankPlan& plan_;
  tune::OwnJob& job_;
  tune::RankTarget target_;
  RecordedSizes recorded_;  // none: there is no recording
  std::size_t hosts_ = 1;
  std::unique_ptr<tune::Journal> journal_;
  std::unique_ptr<tune::Laboratory> laboratory_;
  std::map<tune::Experiment, double> looseness_;    // of what was measured here
  std::map<tune::Experiment, double> predictions_;  // in seconds
  std::optional<sim::Hardware> prior_;              // nullopt: nothing predicts
  std::string prior_name_;
  std::string search_name_;
  std::size_t all_experiments_ = 0;
  std::size_t resumed_ = 0;
  double seconds_ = 0;  // that the search took
  tune::DecisionTable table_;
  std::vector<TunedCollective> found_;
};

}  // namespace weft::cli
