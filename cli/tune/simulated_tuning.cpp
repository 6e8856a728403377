#include "cli/tune/simulated_tuning.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/tune/predicted_map.hpp"
#include "sim/processors.hpp"
#include "tune/experiments/borders.hpp"
#include "tune/experiments/grid_reduction.hpp"
#include "tune/experiments/journal.hpp"
#include "tune/experiments/payback.hpp"
#include "tune/experiments/searches.hpp"
#include "tune/experiments/simulated.hpp"
#include "tune/fixed_rules.hpp"

namespace weft::cli {

namespace {

constexpr std::string_view kSearches = "exhaustive, mgd, smgd, pipeline, prior";

/// All sizes of a decision table, where --bytes names none.
ScenarioOptions with_sizes(ScenarioOptions options) {
  if (!options.bytes && options.collective != "barrier") options.bytes = all_sizes();
  return options;
}

}  // namespace

SimulatedTuning::SimulatedTuning(const TuneOptions& options)
    : options_(options),
      scenario_(with_sizes(options.scenario)),
      like_(scenario_.problem(0)),
      facts_{scenario_.machine(), tune::Direct::none, false,
             sim::Processors(scenario_.machine(), scenario_.profile().hardware.host).are_shared()},
      name_(options.experiments.value_or("smgd")),
      pipelines_(tune::simulated_pipeline(like_, facts_, scenario_.profile().hardware)) {
  if (like_.collective == plan::Collective::alltoallv) {
    throw_usage("weft tune: not for alltoallv, whose ranks know only their own counts");
  }
  if (options.trace) throw_usage("--trace: on the ranks of a job, not simulated");
  read_search();
  std::vector<std::uint64_t> sizes = scenario_.sizes();
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::uint64_t bytes : sizes) {
    points_.push_back(point_at(bytes));
    points_.back().bytes = bytes;
  }
}

tune::Point SimulatedTuning::point_at(std::uint64_t bytes) const {
  return tune::point_of(tune::resized(like_, bytes), facts_, options_.least_segment_bytes());
}

void SimulatedTuning::run() {
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
  const int searched = laboratory_->experiments();
  rules_ = tune::rules_of(
      points_, found_, [this](std::uint64_t bytes) { return point_at(bytes); }, *laboratory_);
  border_experiments_ = laboratory_->experiments() - searched;
  if (options_.held_out) hold_out(measure);
}

tune::DecisionTable SimulatedTuning::table() const {
  tune::DecisionTable table;
  table.machine = to_string(scenario_.machine());
  table.adapter = scenario_.profile().name;
  table.date = today();
  table.set(like_.collective, rules_);
  return table;
}

Json SimulatedTuning::to_json_form() const {
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
          {"experiments_of_borders", border_experiments_},
          {"from_journal", resumed_},
          {"seconds", laboratory_->seconds() + pipelines_.seconds()},
          {"payback", payback_ ? payback_->to_json_form() : Json()},
          {"results", results}};
}

std::string SimulatedTuning::title() const {
  return fmt::format("{} on {} with {}", to_string(like_.collective),
                     to_string(scenario_.machine()), scenario_.profile().name);
}

/// One sentence.
std::string SimulatedTuning::costs() const {
  std::string text = fmt::format("{}: {} of the {} of an exhaustive search", name_,
                                 counted(experiments(), "experiment"), all_experiments());
  if (border_experiments_ > 0) text += fmt::format(", and {} for borders", border_experiments_);
  text += fmt::format(", {:.6f} s on the simulated machine in ten runs each",
                      laboratory_->seconds() + pipelines_.seconds());
  if (resumed_ > 0) text += fmt::format("; {} more are in the journal", resumed_);
  return text + ".";
}

std::string SimulatedTuning::to_text() const {
  std::string text =
      fmt::format("{}\n\n{:>12}  {:<40}{:>12}\n", title(), "bytes", "algorithm", "time us");
  for (std::size_t i = 0; i < points_.size(); ++i) {
    text += fmt::format("{:>12}  {:<40}{:>12.3f}\n", points_[i].bytes, algorithm(i),
                        found_[i].seconds * 1e6);
  }
  text += "\n" + costs() + "\n";
  return payback_ ? text + payback_->to_text() : text;
}

TuningPage SimulatedTuning::page() {
  const sim::Hardware& hardware = scenario_.profile().hardware;
  TuningPage page{title(), costs(), "simulated", "fixed rules", prior_.name, {}};
  if (payback_) page.lead += " " + payback_->to_text();
  PagePart part{{like_.collective, {}}, {}, {}};
  MapRow row{to_string(scenario_.machine()), false, {}};
  const tune::Measure measure = tune::simulated(like_, facts_, hardware);
  const auto by_rules = tune::by_fixed_rules(points_, like_, facts_, measure);
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::uint64_t bytes = points_[i].bytes;
    const tune::Experiment one{like_.collective, bytes, found_[i].method, found_[i].segment};
    // What was found may be a prediction.
    TunedSize size{bytes, algorithm(i), measure(one)};
    if (!prior_.name.empty()) {
      size.predicted = tune::simulated(like_, facts_, prior_.hardware)(one);
    }
    size.own_algorithm = tune::choose_by_rules(tune::resized(like_, bytes), facts_).name();
    size.own_seconds = by_rules[i];
    row.winners.emplace_back(bytes, size.algorithm);
    part.found.sizes.push_back(std::move(size));
    sizes.push_back(bytes);
  }
  part.map = predicted_rows(facts_, hardware, sizes, options_.least_segment_bytes(),
                            [this](std::uint64_t bytes) { return tune::resized(like_, bytes); });
  part.map.push_back(std::move(row));
  if (payback_) {
    const auto& held_out = payback_->held_out;
    const auto regrets = tune::regrets(held_out.table, held_out.best);
    for (std::size_t i = 0; i < regrets.size(); ++i) {
      part.held_out.emplace_back(static_cast<double>(held_out.sizes[i]), regrets[i] * 100);
    }
  }
  page.parts.push_back(std::move(part));
  return page;
}

void SimulatedTuning::hold_out(const tune::Measure& measure) {
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

void SimulatedTuning::read_search() {
  if (const auto plain = plain_search(name_)) {
    search_ = *plain;
  } else if (name_ == "pipeline") {
    search_ = [this](const auto& point, auto& where) {
      return by_pipeline(point, where, pipelines_);
    };
  } else if (name_ == "prior") {
    if (!options_.prior) throw_usage("--prior, the profile that predicts, is missing");
    prior_ = nic_profiles::load(*options_.prior);
    search_ = search_by(tune::simulated(like_, facts_, prior_.hardware), options_.doubt_part());
  } else {
    throw_usage("--experiments={}: must be one of {}", name_, kSearches);
  }
  if (name_ != "prior" && (options_.prior || options_.doubt)) {
    throw_usage("{} is for --experiments prior", options_.prior ? "--prior" : "--doubt");
  }
}

/// All on which times depend beside the experiment.
std::string SimulatedTuning::about() const {
  return fmt::format("simulated {} root {} element {} in place {} on {} with {}",
                     to_string(like_.collective), like_.root, like_.element_bytes, like_.in_place,
                     to_string(scenario_.machine()), nic_profiles::to_json(scenario_.profile()));
}

std::string SimulatedTuning::algorithm(std::size_t i) const {
  const tune::Point& at = points_[i];
  return tune::algorithm_of({at.collective, at.bytes, found_[i].method, found_[i].segment}).name();
}

std::uint64_t SimulatedTuning::experiments() const {
  return static_cast<std::uint64_t>(laboratory_->experiments() - border_experiments_) +
         static_cast<std::uint64_t>(pipelines_.experiments());
}

std::size_t SimulatedTuning::all_experiments() const {
  std::size_t all = 0;
  for (const tune::Point& point : points_) {
    for (const tune::Method& one : point.methods) all += segments(point, one).size();
  }
  return all;
}

}  // namespace weft::cli
