#include "tune/sensitivity.hpp"

#include <limits>

#include "nic_profiles/numbers.hpp"
#include "tune/bound.hpp"

namespace weft::tune {

namespace {

constexpr std::uint64_t kMostOps = 1 << 19;
constexpr double kMostRatio = 2;

struct Variation {
  std::string path;
  double factor = 1;
  sim::Hardware hardware;
  double before_ns = 0;
  double best_ns = std::numeric_limits<double>::infinity();
  const Prediction* best = nullptr;
};

std::vector<Variation> vary(const plan::Problem& problem, const Facts& facts,
                            const nic_profiles::Profile& profile, Sensitivity& found) {
  std::vector<Variation> variations;
  for (const nic_profiles::Number& number : nic_profiles::estimates(profile.sources)) {
    bool varied = false;
    for (const double factor : {0.5, 2.0}) {
      const auto changed = nic_profiles::scaled(number, profile.hardware, factor);
      if (!changed) continue;
      varied = true;
      variations.push_back({number.path(), factor, counted(problem, facts, *changed)});
    }
    if (!varied) found.kept.push_back(number.path());
  }
  return variations;
}

/// The plans of all ranks, to be simulated many times.
std::vector<plan::Plan> plans_of(const Algorithm& algorithm, const plan::Problem& problem,
                                 const hierarchy::Machine& machine) {
  std::vector<plan::Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(algorithm.plan(problem, machine, rank));
  }
  return plans;
}

/// The number of predictions that are compared.
int compared(const plan::Problem& problem, const Facts& facts, const sim::Hardware& hardware,
             const std::vector<Prediction>& predictions) {
  constexpr int kLeast = 2;
  std::uint64_t ops = 0;
  int count = 0;
  for (const Prediction& one : predictions) {
    if (one.time_ns > kMostRatio * predictions.front().time_ns) break;
    ops += bound(one.algorithm, problem, facts.machine, hardware).ops;
    if (count >= kLeast && ops > kMostOps) break;
    ++count;
  }
  return count;
}

}  // namespace

Sensitivity sensitivity(const plan::Problem& problem, const Facts& facts,
                        const nic_profiles::Profile& profile,
                        const std::vector<Prediction>& predictions,
                        const std::function<void(int done, int total)>& progress) {
  Sensitivity found;
  std::vector<Variation> variations = vary(problem, facts, profile, found);
  found.variations = static_cast<int>(variations.size());
  found.candidates = compared(problem, facts, profile.hardware, predictions);
  int done = 0;
  for (int i = 0; i < found.candidates; ++i) {
    const Prediction& candidate = predictions[static_cast<std::size_t>(i)];
    const auto plans = plans_of(candidate.algorithm, problem, facts.machine);
    const auto plan_of = [&](int rank) { return plans[static_cast<std::size_t>(rank)]; };
    for (Variation& variation : variations) {
      if (progress) progress(done, found.candidates * found.variations);
      ++done;
      const auto& hardware = variation.hardware;
      const auto least = bound(candidate.algorithm, problem, facts.machine, hardware);
      if (least.time_ns >= variation.best_ns) continue;
      const double time_ns = sim::simulate(plan_of, facts.machine, hardware).time_ns;
      if (i == 0) variation.before_ns = time_ns;
      if (time_ns >= variation.best_ns) continue;
      variation.best_ns = time_ns;
      variation.best = &candidate;
    }
  }
  for (const Variation& one : variations) {
    if (one.best == nullptr || one.best == &predictions.front()) continue;
    found.changes.push_back(
        {one.path, one.factor, one.best->algorithm.name(), one.best_ns, one.before_ns});
  }
  return found;
}

}  // namespace weft::tune
