#include "tune/simulated_choice.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "sim/classes.hpp"
#include "sim/processors.hpp"
#include "sim/symmetry.hpp"
#include "tune/bound.hpp"
#include "tune/candidates.hpp"
#include "tune/fixed_rules.hpp"

namespace weft::tune {

namespace {

// Progress within a candidate: its steps, and the share of them for making plans.
constexpr int kParts = 100;
constexpr double kPlanning = 0.3;
constexpr int kRanksPerLook = 64;
// Where one rank of each class is simulated: the most plans that are made to find the classes of
// one candidate, also for very many ranks, where one may take 40 ms; the ranks of a node from which
// a candidate without classes is judged; and how many ops for each rank may be simulated of
// candidates without classes.
constexpr std::uint64_t kMostPlans = 64;
constexpr std::uint64_t kMostPlansOfVeryMany = 36;
constexpr int kVeryMany = 1 << 14;
constexpr int kSampledRanks = 4;
constexpr std::uint64_t kWholeOpsARank = 8;

class Comparison {
 public:
  Comparison(const plan::Problem& problem, const Facts& facts, sim::Hardware hardware,
             const ChoiceOptions& options)
      : problem_(problem),
        facts_(facts),
        hardware_(std::move(hardware)),
        options_(options),
        most_ops_(options.most_ops) {}

  std::vector<Prediction> run() {
    for (const Algorithm& algorithm : candidates(problem_, facts_)) {
      entries_.push_back({{.algorithm = algorithm}, 0});
    }
    if (entries_.empty()) {
      throw_usage("{}: none of its algorithms may run here", to_string(problem_.collective));
    }
    by_class_ = is_by_class();
    if (by_class_) {
      most_ops_ = std::min(most_ops_, kWholeOpsARank * static_cast<std::uint64_t>(problem_.ranks));
    }
    for (Entry& entry : entries_) {
      const Bound least = bound(entry.prediction.algorithm, problem_, facts_.machine, hardware_,
                                by_class_ ? kSampledRanks : INT32_MAX);
      entry.prediction.time_ns = least.likely_ns;
      entry.prediction.bound_ns = least.time_ns;
      entry.ops = least.ops;
    }
    // The most promising candidate comes first: its time often spares the simulation of others.
    std::ranges::stable_sort(entries_, {}, [this](const Entry& e) {
      return by_class_ ? e.prediction.time_ns : e.prediction.bound_ns;
    });
    int done = 0;
    if (by_class_) {
      for (Entry& entry : entries_) done += may_win(entry) && simulate_classes(entry, done);
    }
    for (Entry& entry : entries_) {
      if (!entry.prediction.simulated) simulate(entry, done++);
    }
    estimate();
    std::vector<Prediction> predictions;
    for (const Entry& entry : entries_) predictions.push_back(entry.prediction);
    std::ranges::stable_sort(predictions, {}, [](const Prediction& one) {
      return std::pair(one.time_ns, !one.simulated);
    });
    // Of large machines an estimate does not know how long ranks wait for one another.
    if (by_class_ && !predictions.front().simulated) {
      const auto by_rules = std::ranges::find(predictions, choose_by_rules(problem_, facts_).name(),
                                              [](const auto& one) { return one.algorithm.name(); });
      if (by_rules != predictions.end()) std::rotate(predictions.begin(), by_rules, by_rules + 1);
    }
    return predictions;
  }

 private:
  struct Entry {
    Prediction prediction;
    std::uint64_t ops = 0;
  };

  /// Whether it is to be simulated: it may be the fastest, as far as its bound tells, or on large
  /// machines its likely time.
  bool may_win(const Entry& entry) const {
    const Prediction& made = entry.prediction;
    return options_.exhaustive || (by_class_ ? made.time_ns : made.bound_ns) < best_ns_;
  }

  /// Reports progress: `done` candidates, and `part` (of 1) of the next.
  void tell(int done, double part) const {
    if (!options_.progress) return;
    const int total = static_cast<int>(entries_.size()) * kParts;
    options_.progress(done * kParts + static_cast<int>(part * kParts), total);
  }

  bool is_by_class() const {
    return facts_.machine.ranks() > options_.most_ranks_whole &&
           sim::asymmetry(facts_.machine).empty() &&
           !sim::Processors(facts_.machine, hardware_.host).are_shared();
  }

  /// False where there are no classes.
  bool simulate_classes(Entry& entry, int done) {
    tell(done, 0);
    Prediction& made = entry.prediction;
    const auto plan_of = [&](int rank) {
      return made.algorithm.plan(problem_, facts_.machine, rank);
    };
    const int root = is_rooted(problem_.collective) ? problem_.root : 0;
    const auto most = problem_.ranks > kVeryMany ? kMostPlansOfVeryMany : kMostPlans;
    const auto found = sim::find_classes(plan_of, facts_.machine, {root, most});
    const auto* classes = std::get_if<sim::Classes>(&found);
    if (classes == nullptr) return false;
    sim::Options how;
    how.breakdown = options_.breakdown;
    const auto result = sim::simulate(*classes, facts_.machine, hardware_, how);
    if (std::holds_alternative<std::string>(result)) return false;
    take(made, std::get<sim::Result>(result));
    return true;
  }

  void take(Prediction& made, const sim::Result& result) {
    made.simulated = true;
    made.time_ns = result.time_ns;
    made.ranks = result.simulated;
    made.counted = result.counted;
    made.messages = result.messages;
    made.wire_bytes = result.wire_bytes;
    made.breakdown_ns = result.breakdown_ns;
    best_ns_ = std::min(best_ns_, made.time_ns);
  }

  void simulate(Entry& entry, int done) {
    Prediction& made = entry.prediction;
    tell(done, 0);
    if (!may_win(entry)) return;
    if (entry.ops > most_ops_ - spent_ops_) return;
    spent_ops_ += entry.ops;
    sim::Options how;
    how.breakdown = options_.breakdown;
    how.progress = [&](std::uint64_t ops, std::uint64_t of) {
      tell(done, kPlanning + (1 - kPlanning) * static_cast<double>(ops) / static_cast<double>(of));
    };
    const auto plan_of = [&](int rank) {
      if (rank % kRanksPerLook == 0) tell(done, kPlanning * rank / facts_.machine.ranks());
      return made.algorithm.plan(problem_, facts_.machine, rank);
    };
    const double likely_ns = made.time_ns;
    take(made, sim::simulate(plan_of, facts_.machine, hardware_, how));
    if (likely_ns > 0 && !by_class_)
      worst_ratio_ = std::max(worst_ratio_, made.time_ns / likely_ns);
  }

  /// By class nothing is known of how far estimates are off: they come behind what was simulated.
  void estimate() {
    double least_ns = 0;
    for (const Entry& entry : entries_) {
      if (by_class_ && entry.prediction.simulated) {
        least_ns = std::max(least_ns, entry.prediction.time_ns);
      }
    }
    for (Entry& entry : entries_) {
      Prediction& made = entry.prediction;
      if (!made.simulated) made.time_ns = std::max(made.time_ns * worst_ratio_, least_ns);
    }
  }

  const plan::Problem& problem_;
  const Facts& facts_;
  sim::Hardware hardware_;
  const ChoiceOptions& options_;
  std::vector<Entry> entries_;
  bool by_class_ = false;
  std::uint64_t most_ops_ = 0;
  std::uint64_t spent_ops_ = 0;
  double best_ns_ = std::numeric_limits<double>::infinity();
  double worst_ratio_ = 1;
};

std::string_view describe(sim::Cost cost) {
  switch (cost) {
    case sim::Cost::startup:
      return "starting messages";
    case sim::Cost::wire:
      return "the wire";
    case sim::Cost::copy:
      return "copies";
    case sim::Cost::reduction:
      return "reductions";
    case sim::Cost::contention:
      return "contention";
  }
  return "?";
}

}  // namespace

sim::Hardware counted(const plan::Problem& problem, const Facts& facts,
                      const sim::Hardware& hardware) {
  sim::Hardware counted = hardware;
  if (!is_alltoall(problem.collective)) counted.host = {};
  if (facts.direct != Direct::calls) counted.node.call_ns = 0;
  // Memory that neighbours map the adapter reaches, too.
  if (is_by_loads(facts.direct)) {
    counted.adapter.into_caller_ns = counted.adapter.into_caller_bytes_per_ns = 0;
  }
  return counted;
}

std::vector<Prediction> choose(const plan::Problem& problem, const Facts& facts,
                               const sim::Hardware& hardware, const ChoiceOptions& options) {
  return Comparison(problem, facts, counted(problem, facts, hardware), options).run();
}

sim::Cost dominant(const Prediction& prediction) {
  const auto& parts = prediction.breakdown_ns;
  return static_cast<sim::Cost>(std::ranges::max_element(parts) - parts.begin());
}

std::string explain(const std::vector<Prediction>& predictions) {
  const Prediction& best = predictions.front();
  const std::string name = best.algorithm.name();
  if (!best.simulated) {
    return fmt::format("{}: not simulated, nor is any other: by rules, or the least work", name);
  }
  std::string text = fmt::format("{} spends most on {}", name, describe(dominant(best)));
  const auto other = std::ranges::find_if(predictions, [&](const Prediction& one) {
    return one.algorithm.base_name() != best.algorithm.base_name();
  });
  if (other == predictions.end()) return text + "; nothing else applies";
  text +=
      fmt::format("; {}, the best of the others, takes {:.0f} % longer", other->algorithm.name(),
                  100 * (other->time_ns / std::max(best.time_ns, 1e-3) - 1));
  if (!other->simulated) return text + ", as far as its bound tells";
  const auto extra = [&](std::size_t cost) {
    return other->breakdown_ns[cost] - best.breakdown_ns[cost];
  };
  std::size_t worst = 0;
  for (std::size_t cost = 1; cost < sim::kCosts; ++cost) {
    if (extra(cost) > extra(worst)) worst = cost;
  }
  if (extra(worst) <= 0) return text;
  return text + fmt::format(": {:.1f} us more for {}", extra(worst) / 1e3,
                            describe(static_cast<sim::Cost>(worst)));
}

}  // namespace weft::tune
