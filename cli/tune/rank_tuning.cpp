#include "cli/tune/rank_tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/installation.hpp"
#include "cli/options/arguments.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "nic_profiles/profile.hpp"
#include "tune/experiments/borders.hpp"
#include "tune/experiments/grid_reduction.hpp"
#include "tune/experiments/simulated.hpp"

namespace weft::cli {

namespace {

using plan::Collective;

/// What would be taken is measured so often again, in turn with weft's own choice: the least of
/// many times is partly luck, and so is where a communicator's ranks and memory lie.
constexpr int kTrials = 2;

/// Stands behind the method of an experiment that is measured again.
constexpr char kAgain = '@';

tune::Experiment again(tune::Experiment one, int trial) {
  one.method += fmt::format("{}{}", kAgain, trial);
  return one;
}

tune::Algorithm measured_algorithm(tune::Experiment one) {
  one.method.resize(std::min(one.method.size(), one.method.find(kAgain)));
  return tune::algorithm_of(one);
}

}  // namespace

RankTuning::RankTuning(const RankPlan& plan, tune::OwnJob& job, const Text& journal)
    : plan_(plan), job_(job), target_(job) {
  if (plan_.trace) recorded_ = load_recorded_sizes(*plan_.trace, job_.bootstrap().size());
  const auto hosts = target_.hosts();
  hosts_ = std::set<std::string>(hosts.begin(), hosts.end()).size();
  read_prior();
  if (journal) journal_ = std::make_unique<tune::Journal>(*journal, about());
  laboratory_ = std::make_unique<tune::Laboratory>([this](const tune::Experiment& one) {
    const double seconds = measure(one);
    if (journal_ && std::isfinite(seconds)) journal_->add(one, seconds);
    return seconds;
  });
  table_.machine = to_string(job_.situation().machine);
  table_.adapter = job_.adapter().name;
  table_.date = today();
  if (!journal_) return;
  for (const auto& [one, seconds] : journal_->known()) laboratory_->know(one, seconds);
  resumed_ = laboratory_->known().size();
}

/// All on which times depend beside the experiment.
std::string RankTuning::about() const {
  const tune::Situation& known = job_.situation();
  return fmt::format("measured by weft {} on {} of {} view {} crowded {} eager {} deterministic {}",
                     kVersion, to_string(known.machine), counted(hosts_, "host"),
                     static_cast<int>(known.direct), known.crowded, known.eager_bytes,
                     known.deterministic);
}

void RankTuning::read_prior() {
  search_name_ = plan_.search_name;
  if (plan_.prior) {
    auto profile = nic_profiles::load(*plan_.prior);
    prior_name_ = profile.name;
    prior_ = tune::basis_of(job_.situation(), nic_profiles::to_json(profile)).hardware;
  } else if (const auto& adapter = job_.adapter(); !adapter.profile.empty()) {
    prior_name_ = nic_profiles::parse("the adapter's profile", adapter.profile).name;
    prior_ = tune::basis_of(job_.situation(), adapter.profile).hardware;
  }
  if (search_name_.empty()) search_name_ = prior_ ? "prior" : "smgd";
  if (search_name_ == "prior" && !prior_) {
    throw_usage("--prior, the profile that predicts, is missing: none is known of this adapter");
  }
}

tune::Search RankTuning::search() {
  if (const auto plain = plain_search(search_name_)) return *plain;
  return search_by([this](const tune::Experiment& one) { return predict(one); }, plan_.doubt);
}

tune::Point RankTuning::point_at(Collective collective, std::uint64_t bytes) const {
  const plan::Problem problem = tune::resized(job_.problem(collective, bytes), bytes);
  return tune::point_of(problem, job_.facts(), plan_.least_segment);
}

std::vector<tune::Point> RankTuning::points_of(Collective collective) const {
  std::vector<tune::Point> points;
  if (const auto found = recorded_.find(collective); found != recorded_.end()) {
    for (const auto& [bytes, calls] : found->second) points.push_back(point_at(collective, bytes));
    return points;
  }
  for (const std::uint64_t bytes : plan_.sizes_of(collective)) {
    points.push_back(point_at(collective, bytes));
  }
  return points;
}

/// Those that are asked for, of a recording those that it has.
std::vector<Collective> RankTuning::collectives() const {
  std::vector<Collective> all = plan_.collectives;
  if (plan_.trace) std::erase_if(all, [&](Collective one) { return !recorded_.contains(one); });
  return all;
}

double RankTuning::calls_of(Collective collective, std::uint64_t bytes) const {
  const auto found = recorded_.find(collective);
  if (found == recorded_.end()) return 0;
  const auto calls = found->second.find(bytes);
  return calls == found->second.end() ? 0 : calls->second;
}

double RankTuning::measure(const tune::Experiment& one) {
  const tune::MeasuredCall call{std::string(to_string(one.collective)), one.bytes,
                                measured_algorithm(one).name()};
  const auto estimate = target_.time(call);
  // What does not run as asked for is never the fastest.
  if (!estimate) return std::numeric_limits<double>::infinity();
  looseness_[one] = nic_profiles::looseness(*estimate);
  return estimate->ns / 1e9;
}

double RankTuning::predict(const tune::Experiment& one) {
  const auto known = predictions_.find(one);
  if (known != predictions_.end()) return known->second;
  const plan::Problem problem = job_.problem(one.collective, one.bytes);
  return predictions_[one] = tune::simulated(problem, job_.facts(), *prior_)(one);
}

bool RankTuning::gains_again(const tune::Experiment& best, const tune::Experiment& own) {
  for (int trial = 1; trial <= kTrials; ++trial) {
    const double own_seconds = laboratory_->time(again(own, trial));
    if (laboratory_->time(again(best, trial)) >= own_seconds * (1 - kLeastGain)) return false;
  }
  return true;
}

/// Keeps weft's own choice where what was found gains too little.
void RankTuning::judge(const std::vector<tune::Point>& points,
                       const std::vector<tune::Found>& found) {
  const Collective collective = points.front().collective;
  std::vector<tune::Found> taken = found;
  TunedCollective part{collective, {}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint64_t bytes = points[i].bytes;
    const tune::Algorithm choice = job_.own_choice(job_.problem(collective, bytes));
    const tune::Experiment own = tune::experiment_of(collective, bytes, choice);
    const tune::Experiment best{collective, bytes, found[i].method, found[i].segment};
    const double own_seconds = laboratory_->time(own);
    const double seconds = own == best ? own_seconds : laboratory_->time(best);
    const double gain = std::max(kLeastGain, looseness_[own] + looseness_[best]);
    const bool gains = seconds < own_seconds * (1 - gain) && gains_again(best, own);
    const tune::Experiment& winner = gains ? best : own;
    taken[i] = {winner.method, winner.segment, gains ? seconds : own_seconds};
    part.sizes.push_back({bytes, measured_algorithm(winner).name(), taken[i].seconds,
                          prior_ ? std::optional(predict(winner)) : std::nullopt, choice.name(),
                          own_seconds, calls_of(collective, bytes)});
  }
  // Between sizes of whole doubles such sizes, too.
  const std::uint64_t whole = std::gcd(points.front().bytes, sizeof(double));
  const auto at = [&](std::uint64_t bytes) { return point_at(collective, bytes / whole * whole); };
  table_.set(collective, tune::rules_of(points, taken, at, *laboratory_));
  found_.push_back(std::move(part));
}

void RankTuning::run() {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::vector<tune::Point>> parts;
  std::size_t sizes = 0;
  for (const Collective one : collectives()) {
    sizes += parts.emplace_back(points_of(one)).size();
  }
  Progress bar("tuning", sizes);
  const tune::Search found_by = search();
  std::uint64_t before = 0;
  for (const auto& points : parts) {
    std::uint64_t done = 0;
    const tune::Search shown = [&](const tune::Point& point, tune::Laboratory& where) {
      const auto at = std::ranges::find(points, point.bytes, &tune::Point::bytes);
      done = std::max(done, static_cast<std::uint64_t>(at - points.begin()));
      bar.update(before + done);
      return found_by(point, where);
    };
    judge(points, tune::reduce_grid(points, plan_.step, shown, *laboratory_));
    for (const tune::Point& point : points) {
      for (const tune::Method& one : point.methods) {
        all_experiments_ += segments(point, one).size();
      }
    }
    before += points.size();
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

tune::DecisionTable RankTuning::table() const {
  return table_;
}

}  // namespace weft::cli
