// weft tune: searches for the fastest algorithm and segment of a collective at each size, by few
// experiments on a simulated cluster, and writes a decision table.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/tune/payback.hpp"
#include "cli/tune/tune_options.hpp"
#include "sim/processors.hpp"
#include "tune/decision_table.hpp"
#include "tune/experiments/grid_reduction.hpp"
#include "tune/experiments/journal.hpp"
#include "tune/experiments/searches.hpp"
#include "tune/experiments/simulated.hpp"

namespace weft::cli {

namespace {

constexpr std::string_view kSearches = "exhaustive, mgd, smgd, pipeline, prior";

/// All sizes of a decision table, where --bytes names none.
ScenarioOptions with_sizes(ScenarioOptions options) {
  if (!options.bytes && options.collective != "barrier") options.bytes = all_sizes();
  return options;
}

class Tuning {
 public:
  explicit Tuning(const TuneOptions& options)
      : options_(options),
        scenario_(with_sizes(options.scenario)),
        like_(scenario_.problem(0)),
        facts_{
            scenario_.machine(), tune::Direct::none, false,
            sim::Processors(scenario_.machine(), scenario_.profile().hardware.host).are_shared()},
        name_(options.experiments.value_or("smgd")),
        pipelines_(tune::simulated_pipeline(like_, facts_, scenario_.profile().hardware)) {
    if (like_.collective == plan::Collective::alltoallv) {
      throw_usage("weft tune: not for alltoallv, whose ranks know only their own counts");
    }
    read_search();
    auto sizes = scenario_.sizes();
    std::ranges::sort(sizes);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (const std::uint64_t bytes : sizes) {
      points_.push_back(
          tune::point_of(tune::resized(like_, bytes), facts_, options.least_segment_bytes()));
      points_.back().bytes = bytes;
    }
  }

  void run() {
    const tune::Measure measure = tune::simulated(like_, facts_, scenario_.profile().hardware);
    std::optional<tune::Journal> journal;
    if (options_.journal) journal.emplace(*options_.journal, about());
    laboratory_.emplace([&](const tune::Experiment& one) {
      const double seconds = measure(one);
      if (journal) journal->add(one, seconds);
      return seconds;
    });
    if (journal) {
      for (const auto& [one, seconds] : journal->known()) laboratory_->know(one, seconds);
      resumed_ = laboratory_->known().size();
    }
    Progress bar("tuning", points_.size());
    std::uint64_t done = 0;
    const auto search = [&](const tune::Point& point, tune::Laboratory& laboratory) {
      // Sizes between those that are searched come at no cost.
      const auto at = std::ranges::find(points_, point.bytes, &tune::Point::bytes);
      done = std::max(done, static_cast<std::uint64_t>(at - points_.begin()));
      bar.update(done);
      return search_(point, laboratory);
    };
    found_ = tune::reduce_grid(points_, options_.grid_step(), search, *laboratory_);
    if (options_.held_out) hold_out(measure);
  }

  tune::DecisionTable table() const {
    tune::DecisionTable table;
    table.machine = to_string(scenario_.machine());
    table.adapter = scenario_.profile().name;
    table.date = today();
    table.set(like_.collective, tune::rules_of(points_, found_));
    return table;
  }

  Json to_json_form() const {
    Json results = Json::array();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      results.push_back({{"bytes", points_[i].bytes},
                         {"algorithm", algorithm(i)},
                         {"time_us", found_[i].seconds * 1e6}});
    }
    return {{"collective", to_string(like_.collective)},
            {"machine", to_string(scenario_.machine())},
            {"nic", scenario_.profile().name},
            {"search", name_},
            {"experiments", experiments()},
            {"experiments_of_exhaustive", all_experiments()},
            {"from_journal", resumed_},
            {"seconds", laboratory_->seconds() + pipelines_.seconds()},
            {"payback", payback_ ? payback_->to_json_form() : Json()},
            {"results", results}};
  }

  std::string to_text() const {
    std::string text = fmt::format("{} on {} with {}\n\n{:>12}  {:<40}{:>12}\n",
                                   to_string(like_.collective), to_string(scenario_.machine()),
                                   scenario_.profile().name, "bytes", "algorithm", "time us");
    for (std::size_t i = 0; i < points_.size(); ++i) {
      text += fmt::format("{:>12}  {:<40}{:>12.3f}\n", points_[i].bytes, algorithm(i),
                          found_[i].seconds * 1e6);
    }
    text += fmt::format(
        "\n{}: {} of the {} of an exhaustive search, {:.6f} s on the simulated machine in ten runs "
        "each",
        name_, counted(experiments(), "experiment"), all_experiments(),
        laboratory_->seconds() + pipelines_.seconds());
    if (resumed_ > 0) text += fmt::format("; {} more are in the journal", resumed_);
    text += ".\n";
    return payback_ ? text + payback_->to_text() : text;
  }

 private:
  void hold_out(const tune::Measure& measure) {
    const auto& known = laboratory_->known();
    // What the search has measured is not simulated again.
    const tune::Measure cheap = [&](const tune::Experiment& one) {
      const auto found = known.find(one);
      return found == known.end() ? measure(one) : found->second;
    };
    payback_.emplace();
    payback_->held_out = tune::hold_out(points_, table(), like_, facts_, cheap);
    tune::Laboratory all(cheap);
    for (const tune::Point& point : points_) exhaustive(point, all);
    payback_->exhaustive_seconds = all.seconds();
    payback_->tuning_seconds = pipelines_.seconds();
    for (const auto& [one, seconds] : known) payback_->tuning_seconds += seconds * all.runs_each();
    payback_->before = tune::by_fixed_rules(points_, like_, facts_, cheap);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      payback_->after.push_back(
          cheap({like_.collective, points_[i].bytes, found_[i].method, found_[i].segment}));
    }
  }

  void read_search() {
    if (const auto plain = plain_search(name_)) {
      search_ = *plain;
    } else if (name_ == "pipeline") {
      search_ = [this](const auto& point, auto& where) {
        return by_pipeline(point, where, pipelines_);
      };
    } else if (name_ == "prior") {
      if (!options_.prior) throw_usage("--prior, the profile that predicts, is missing");
      prior_ = nic_profiles::load(*options_.prior);
      const auto doubt =
          options_.doubt ? env::parse_integer("--doubt", *options_.doubt, 0, 1000) : 25;
      search_ = [this, doubt](const auto& point, auto& where) {
        const auto predict = tune::simulated(like_, facts_, prior_.hardware);
        return by_prediction(point, where, predict, static_cast<double>(doubt) / 100);
      };
    } else {
      throw_usage("--experiments={}: must be one of {}", name_, kSearches);
    }
    if (name_ != "prior" && (options_.prior || options_.doubt)) {
      throw_usage("{} is for --experiments prior", options_.prior ? "--prior" : "--doubt");
    }
  }

  /// All on which times depend beside the experiment.
  std::string about() const {
    return fmt::format("simulated {} root {} element {} in place {} on {} with {}",
                       to_string(like_.collective), like_.root, like_.element_bytes, like_.in_place,
                       to_string(scenario_.machine()), nic_profiles::to_json(scenario_.profile()));
  }

  std::string algorithm(std::size_t i) const {
    const tune::Point& at = points_[i];
    return tune::algorithm_of({at.collective, at.bytes, found_[i].method, found_[i].segment})
        .name();
  }

  std::uint64_t experiments() const {
    return static_cast<std::uint64_t>(laboratory_->experiments()) +
           static_cast<std::uint64_t>(pipelines_.experiments());
  }

  std::size_t all_experiments() const {
    std::size_t all = 0;
    for (const tune::Point& point : points_) {
      for (const tune::Method& one : point.methods) all += segments(point, one).size();
    }
    return all;
  }

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
  std::size_t resumed_ = 0;
  std::optional<Payback> payback_;
};

int merge(const TuneOptions& options) {
  if (options.scenario.collective) {
    throw_usage("--merge joins tables and tunes nothing: leave {} away",
                *options.scenario.collective);
  }
  tune::DecisionTable table = tune::load_table(options.merge.front());
  for (std::size_t i = 1; i < options.merge.size(); ++i) {
    try {
      table.merge(tune::load_table(options.merge[i]));
    } catch (const UsageError& error) {
      throw_usage("--merge {}: {}", options.merge[i], error.what());
    }
  }
  OutputFile file(options.table);
  file.open();
  file.write(to_json(table));
  if (!options.table) print(to_json(table));
  return kHolds;
}

int run(const TuneOptions& options) {
  if (!options.merge.empty()) return merge(options);
  if (options.format) return tune_host(options);
  Tuning tuning(options);
  OutputFile file(options.table);
  tuning.run();
  file.open();  // here, so that a tuning that is ended leaves the old table as it was
  file.write(to_json(tuning.table()));
  if (options.json) {
    print_json(tuning.to_json_form());
  } else {
    print(tuning.to_text());
  }
  return kHolds;
}

void add_options(Command& command, TuneOptions& options) {
  options.scenario.add_to(command);
  command.add_option("--experiments", options.experiments, "SEARCH",
                     "exhaustive; mgd or smgd, which descend to ever smaller segments;\n"
                     "pipeline: segments by a short chain; prior: only what predictions leave\n"
                     "in doubt [smgd]");
  command.add_option("--grid", options.grid, "STEP",
                     "Search each STEP-th size only, and interpolate those between [1]");
  command.add_option("--prior", options.prior, "NIC", "The profile that predicts");
  command.add_option("--doubt", options.doubt, "PERCENT",
                     "How far predictions may be off, either way [25]");
  command.add_option("--least-segment", options.least_segment, "BYTES",
                     "The smallest segment to try [1024]");
  command.add_option("--journal", options.journal, "FILE",
                     "Keep each measurement in FILE; the same command goes on from there");
  command.add_option("--table", options.table, "FILE",
                     "Write a table of what was found (JSON), for WEFT_TABLE");
  command.add_option("--format", options.format, "MPI",
                     "openmpi, mpich: measure that MPI's own algorithms, on the ranks of the job\n"
                     "in which this runs (of COLLECTIVE,.. or all), and write the file that it\n"
                     "loads to --table");
  command.add_repeated("--merge", options.merge, "TABLE",
                       "Join tables for one machine and adapter instead, to --table or standard\n"
                       "output; of two for one collective the later one counts (repeatable)");
  command.add_flag("--held-out", options.held_out,
                   "Search exhaustively, too: the regret at sizes half-way between those that\n"
                   "were tuned, and the calls until the tuning has paid (simulated)");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_tune(CommandLine& line) {
  const auto options = std::make_shared<TuneOptions>();
  Command command = line.add_command(
      "tune", "Search for the fastest algorithm and segment at each size, by few experiments");
  add_options(command, *options);
  command.set(
      "Experiments are simulated, on the machine and the adapter of the options. Without --bytes "
      "all\npowers of two up to 4 MiB are tuned.\n\n"
      "Examples:\n"
      "  weft tune broadcast --nodes 8 --ppn 1 --nic mt25208 --bytes 8,1K,64K\n"
      "  weft tune scatter --machine 8x1 --nic mt25208 --bytes 1K,64K --experiments mgd --json\n"
      "  mpirun -n 16 weft tune allreduce,broadcast --format openmpi --table rules.conf\n"
      "  weft tune reduce --machine 4x2 --nic soft --bytes 1K --journal reduce.log --table "
      "t.json\n",
      [options] { return run(*options); });
}

}  // namespace weft::cli
