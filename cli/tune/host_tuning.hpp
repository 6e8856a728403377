// Host tuning: searches for the fastest of an MPI's own algorithms on the ranks of its job.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/json.hpp"
#include "cli/tune/tune_options.hpp"
#include "tune/experiments/journal.hpp"
#include "tune/hosts/host_rules.hpp"
#include "tune/hosts/host_target.hpp"

namespace weft::cli {

/// A file format, and the MPI that reads it.
enum class HostFormat { openmpi, mpich };

/// What --format and the other options ask for, before there is a job. UsageError names the option.
struct HostPlan {
  explicit HostPlan(const TuneOptions& options);

  HostFormat format;
  std::string mpi;  ///< "openmpi"
  std::vector<plan::Collective> collectives;
  std::vector<std::uint64_t> sizes;  ///< ascending
  std::string search_name;
  tune::Search search;
  int step = 1;
  std::uint64_t least_segment = 1024;
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
  bool is_fit(const tune::HostCall& call, Part& part, const std::string& name);
  tune::HostCall call_of(const tune::Experiment& one) const;
  double measure(const tune::Experiment& one);
  double own_seconds(plan::Collective collective, std::uint64_t bytes);
  void search(plan::Collective collective);
  tune::HostRules rules_of(const Part& part) const;
  std::string how_to_use(const Text& path) const;
  std::string about() const;

  const HostPlan& plan_;
  tune::HostJob& job_;
  tune::HostTarget target_;
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
