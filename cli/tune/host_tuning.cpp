#include "cli/tune/host_tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "tune/hosts/mpich_selection.hpp"
#include "tune/hosts/openmpi_rules.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

/// The method that leaves the choice to the MPI.
constexpr const char* kOwn = "its own choice";
/// What is measured as programs have it that set nothing; it is no method.
constexpr const char* kUntouched = "untouched";

bool is_segmented(HostFormat format, Collective collective, const std::string& algorithm) {
  return format == HostFormat::openmpi && tune::openmpi::is_segmented(collective, algorithm);
}

}  // namespace

HostTuning::HostTuning(const HostPlan& plan, tune::HostJob& job, const Text& journal)
    : plan_(plan), job_(job), target_(job) {
  const auto hosts = target_.hosts();
  hosts_ = std::set<std::string>(hosts.begin(), hosts.end()).size();
  if (journal) journal_ = std::make_unique<tune::Journal>(*journal, about());
  laboratory_ = std::make_unique<tune::Laboratory>([this](const tune::Experiment& one) {
    const double seconds = measure(one);
    if (journal_) journal_->add(one, seconds);
    return seconds;
  });
  if (!journal_) return;
  for (const auto& [one, seconds] : journal_->known()) laboratory_->know(one, seconds);
  resumed_ = laboratory_->known().size();
}

std::string HostTuning::about() const {
  return fmt::format("{} on {} of {}", job_.version(),
                     counted(static_cast<std::uint64_t>(job_.bootstrap().size()), "rank"),
                     counted(hosts_, "host"));
}

tune::MeasuredCall HostTuning::call_of(const tune::Experiment& one) const {
  const bool is_own = one.method == kOwn || one.method == kUntouched;
  return {std::string(tune::mpi_name(one.collective)), one.bytes, is_own ? "" : one.method,
          one.segment, one.method == kUntouched};
}

int HostTuning::number_of(Collective collective, const std::string& method) const {
  if (method == kOwn) return 0;
  const auto names = job_.algorithms(std::string(tune::mpi_name(collective)));
  return static_cast<int>(std::ranges::find(names, method) - names.begin());
}

double HostTuning::measure(const tune::Experiment& one) {
  const auto estimate = target_.time(call_of(one));
  if (!estimate) throw Error(fmt::format("{}: the MPI refuses what it did before", one.method));
  looseness_[one] = nic_profiles::looseness(*estimate);
  return estimate->ns / 1e9;
}

double HostTuning::own_seconds(Collective collective, std::uint64_t bytes) {
  const bool is_alike = plan_.format == HostFormat::openmpi;
  return laboratory_->time({collective, bytes, is_alike ? kOwn : kUntouched, 0});
}

bool HostTuning::is_fit(const tune::MeasuredCall& call, Part& part, const std::string& name) {
  if (!target_.can_run(call)) return false;
  // MPICH's file tells apart operations that are not commutative.
  const bool must_keep_order = plan_.format == HostFormat::openmpi && !plan_.takes_unordered &&
                               plan::is_reduction(part.collective);
  if (!must_keep_order || target_.keeps_order(call)) return true;
  if (std::ranges::find(part.left_out, name) == part.left_out.end()) part.left_out.push_back(name);
  return false;
}

std::vector<tune::Point> HostTuning::points_of(Collective collective, Part& part) {
  const std::string name(tune::mpi_name(collective));
  const auto names = job_.algorithms(name);
  if (names.size() < 2) {
    throw_usage("{}: {} has no algorithms that could be chosen", to_string(collective),
                job_.version());
  }
  std::vector<tune::Point> points;
  for (const std::uint64_t bytes : plan_.sizes_of(collective)) {
    tune::Point point{collective, bytes, {{kOwn, false}}, plan_.least_segment};
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const tune::MeasuredCall call{name, bytes, names[i], 0, false};
      if (!is_fit(call, part, names[i])) continue;
      point.methods.push_back({names[i], is_segmented(plan_.format, collective, names[i])});
    }
    // MPICH's choice by itself is measured beside its methods.
    if (plan_.format == HostFormat::mpich) ++all_experiments_;
    for (const tune::Method& one : point.methods) {
      all_experiments_ += segments(point, one).size();
    }
    points.push_back(std::move(point));
  }
  return points;
}

void HostTuning::search(Collective collective) {
  Part part{collective, {}, {}};
  const auto points = points_of(collective, part);
  auto found = tune::reduce_grid(points, plan_.step, plan_.search, *laboratory_);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const tune::Experiment own{collective, points[i].bytes, kOwn, 0};
    const double own_time = laboratory_->time(own);
    const tune::Experiment best{collective, points[i].bytes, found[i].method, found[i].segment};
    const double gain = std::max(kLeastGain, looseness_[own] + looseness_[best]);
    if (found[i].seconds > own_time * (1 - gain)) found[i] = {kOwn, 0, own_time};
    part.results.push_back({points[i].bytes, found[i], own_seconds(collective, points[i].bytes)});
  }
  parts_.push_back(std::move(part));
}

void HostTuning::run() {
  const auto begin = std::chrono::steady_clock::now();
  Progress bar("tuning", plan_.collectives.size());
  std::uint64_t done = 0;
  for (const Collective collective : plan_.collectives) {
    bar.update(done++);
    search(collective);
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

tune::HostRules HostTuning::rules_of(const Part& part) const {
  tune::HostRules rules{part.collective, {}};
  for (std::size_t i = 0; i < part.results.size(); ++i) {
    const Result& result = part.results[i];
    const bool is_last = i + 1 == part.results.size();
    const std::uint64_t end = is_last ? tune::HostRule::kAnyBytes
                                      : tune::half_way(result.bytes, part.results[i + 1].bytes);
    const std::string& method = result.found.method;
    tune::HostRule rule{end, method == kOwn ? "" : method, number_of(part.collective, method),
                        result.found.segment};
    auto& all = rules.rules;
    const bool goes_on =
        !all.empty() && all.back().number == rule.number && all.back().segment == rule.segment;
    if (goes_on) all.pop_back();
    all.push_back(std::move(rule));
  }
  return rules;
}

std::string HostTuning::file() const {
  std::vector<tune::HostRules> rules;
  for (const Part& part : parts_) rules.push_back(rules_of(part));
  const int ranks = job_.bootstrap().size();
  if (plan_.format == HostFormat::openmpi) {
    return tune::openmpi::rules_file(rules, ranks,
                                     fmt::format("By weft tune for {}, {}", about(), today()));
  }
  return tune::mpich::selection_file(tune::mpich::own_selection(job_.library()), rules, ranks);
}

Json HostTuning::to_json_form() const {
  Json parts = Json::array();
  for (const Part& part : parts_) {
    Json results = Json::array();
    for (const Result& one : part.results) {
      results.push_back({{"bytes", one.bytes},
                         {"algorithm", one.found.method == kOwn ? Json() : Json(one.found.method)},
                         {"segment", one.found.segment},
                         {"time_us", one.found.seconds * 1e6},
                         {"own_time_us", one.own_seconds * 1e6}});
    }
    parts.push_back({{"collective", to_string(part.collective)},
                     {"left_out", part.left_out},
                     {"results", results}});
  }
  return {{"mpi", job_.version()},
          {"ranks", job_.bootstrap().size()},
          {"hosts", hosts_},
          {"search", plan_.search_name},
          {"experiments", laboratory_->experiments()},
          {"experiments_of_exhaustive", all_experiments_},
          {"from_journal", resumed_},
          {"seconds", seconds_},
          {"collectives", parts}};
}

std::string HostTuning::how_to_use(const Text& path) const {
  const std::string file = path.value_or("FILE");
  if (plan_.format == HostFormat::openmpi) {
    return fmt::format(
        "mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename {} "
        "...\n",
        shell_word(file));
  }
  std::string line;
  for (const Collective one : plan_.collectives) {
    std::string name(tune::mpi_name(one));
    std::ranges::transform(name, name.begin(), [](unsigned char letter) {
      return static_cast<char>(std::toupper(letter));
    });
    line += fmt::format("MPIR_CVAR_{}_DEVICE_COLLECTIVE=0 ", name);
  }
  return fmt::format("{}MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={} mpiexec ...\n", line,
                     shell_word(file));
}

std::string HostTuning::to_text(const Text& path) const {
  std::string text = about() + "\n";
  double before = 0, after = 0;
  std::size_t count = 0;
  for (const Part& part : parts_) {
    text += fmt::format("\n{}\n{:>12}  {:<32}{:>10}{:>12}{:>14}\n", to_string(part.collective),
                        "bytes", "algorithm", "segment", "time us", "by itself us");
    for (const Result& one : part.results) {
      text += fmt::format("{:>12}  {:<32}{:>10}{:>12.2f}{:>14.2f}\n", one.bytes, one.found.method,
                          one.found.segment > 0 ? std::to_string(one.found.segment) : "",
                          one.found.seconds * 1e6, one.own_seconds * 1e6);
      before += one.own_seconds;
      after += one.found.seconds;
      ++count;
    }
    if (!part.left_out.empty()) {
      text += fmt::format("Left out, as wrong for operations that are not commutative: {}.\n",
                          fmt::join(part.left_out, ", "));
    }
  }
  text += fmt::format("\n{}: {} of the {} of an exhaustive search, {:.1f} s", plan_.search_name,
                      counted(static_cast<std::uint64_t>(laboratory_->experiments()), "experiment"),
                      all_experiments_, seconds_);
  if (resumed_ > 0) text += fmt::format("; {} more are in the journal", resumed_);
  text += ".\n";
  if (after < before) {
    text += fmt::format("Paid after {:.0f} calls, as many of each size.\n",
                        std::ceil(seconds_ * static_cast<double>(count) / (before - after)));
  } else {
    text += "What the MPI does by itself is no slower: leave it so.\n";
  }
  return text + "\n" + how_to_use(path);
}

}  // namespace weft::cli
