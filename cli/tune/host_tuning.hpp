// Host tuning: searches for the fastest of an MPI's own algorithms on the ranks of its job.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/json.hpp"
#include "cli/tune/job_plan.hpp"
#include "cli/tune/tune_options.hpp"
#include "tune/experiments/journal.hpp"
#include "tune/hosts/host_job.hpp"
#include "tune/hosts/host_rules.hpp"
#include "tune/hosts/rank_target.hpp"

namespace weft::cli {

/// A file format, and the MPI that reads it.
enum class HostFormat { openmpi, mpich };

/// What --format and the other options ask for, before there is a job. UsageError names the option.
struct HostPlan : JobPlan {
  explicit HostPlan(const TuneOptions& options);

  HostFormat format;
  std::string mpi;  ///< "openmpi"
  std::string search_name;
  tune::Search search;
  bool takes_unordered = false;  ///< algorithms that are wrong for some operations, too
};

/// On rank 0, while the others serve.
class HostTuning {
 public:
  /// What was found for a size, beside what the MPI does by itself.
  struct Result {
    std::uint64_t bytes = 0;
    tune::Found found;
    double own_seconds = 0;
  };
  struct Part {
    plan::Collective collective = plan::Collective::broadcast;
    std::vector<Result> results;
    std::vector<std::string> left_out;  ///< algorithms, for operations that are not commutative
  };

  HostTuning(const HostPlan& plan, tune::HostJob& job, const Text& journal);

  /// UsageError where a collective has no algorithms to choose from.
  void run();

  /// The file that the MPI loads.
  std::string file() const;
  Json to_json_form() const;
  /// `path`: where the file is; nullopt: nowhere.
  std::string to_text(const Text& path) const;

 private:
  std::vector<tune::Point> points_of(plan::Collective collective, Part& part);
  bool is_fit(const tune::MeasuredCall& call, Part& part, const std::string& name);
  tune::MeasuredCall call_of(const tune::Experiment& one) const;
  int number_of(plan::Collective collective, const std::string& method) const;
  double measure(const tune::Experiment& one);
  double own_seconds(plan::Collective collective, std::uint64_t bytes);
  void search(plan::Collective collective);
  tune::HostRules rules_of(const Part& part) const;
  std::string how_to_use(const Text& path) const;
  std::string about() const;

  const HostPlan& plan_;
  tune::HostJob& job_;
  tune::RankTarget target_;
  std::size_t hosts_ = 1;
  std::unique_ptr<tune::Journal> journal_;
  std::unique_ptr<tune::Laboratory> laboratory_;
  std::map<tune::Experiment, double> looseness_;  // of what was measured here
  std::size_t all_experiments_ = 0;
  std::size_t resumed_ = 0;
  double seconds_ = 0;  // that the search took
  std::vector<Part> parts_;
};

}  // namespace weft::cli
