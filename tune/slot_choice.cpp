#include "tune/slot_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "hierarchy/local_blocks.hpp"
#include "sim/classes.hpp"
#include "sim/processors.hpp"
#include "sim/simulator.hpp"
#include "sim/symmetry.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

using plan::Collective;
using plan::Problem;

namespace {

// By which slots are to win: predictions are no better than that (docs/papers.md).
constexpr double kMargin = 1.2;
constexpr int kRadices[] = {4, 8};
// From here on one rank of each class is simulated, of so many plans.
constexpr int kRanksByClass = 64;
constexpr std::uint64_t kMostPlansOfClasses = 512;
// Ops that a simulation of all ranks may have: 0.1 s.
constexpr std::uint64_t kMostOpsOfAll = 1 << 17;
constexpr int kMeasured = 3;
// Of so many ranks the simulations take about a second in all.
constexpr int kMostRanks = 4096;

/// The alltoallv in which each rank has the same for those at the same distance: up to `most`
/// bytes, all of that or irregular, so that no two blocks are copied as one.
class Circulant {
 public:
  Circulant(const hierarchy::Machine& machine, std::uint64_t most, bool irregular)
      : machine_(machine), most_(most), irregular_(irregular) {}

  plan::Plan plan(const Algorithm& algorithm, int rank) const {
    const auto local = machine_.ranks_on(machine_.node_of(rank));
    std::vector<std::vector<plan::Block>> rows;
    for (const bool sends : {true, false}) {
      for (const int one : local) rows.push_back(row(one, sends));
    }
    hierarchy::LocalBlocks::Rows sent, received;
    for (std::size_t i = 0; i < local.size(); ++i) {
      sent.emplace_back(rows[i]);
      received.emplace_back(rows[local.size() + i]);
    }
    const hierarchy::LocalBlocks blocks(machine_, machine_.node_of(rank), sent, received, false);
    return algorithm.plan(blocks, machine_, rank);
  }

 private:
  std::vector<plan::Block> row(int rank, bool sends) const {
    const int ranks = machine_.ranks();
    std::vector<plan::Block> blocks;
    std::uint64_t offset = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      const int distance = ((sends ? peer - rank : rank - peer) + ranks) % ranks;
      const std::uint64_t bytes =
          irregular_ ? 1 + static_cast<std::uint64_t>(distance) * 5 % most_ : most_;
      blocks.push_back({offset, bytes});
      offset += bytes;
    }
    return blocks;
  }

  const hierarchy::Machine& machine_;
  std::uint64_t most_;
  bool irregular_;
};

class Times {
 public:
  Times(const hierarchy::Machine& machine, const sim::Hardware& hardware)
      : machine_(machine),
        hardware_(hardware),
        by_class_(machine.ranks() >= kRanksByClass && sim::asymmetry(machine).empty() &&
                  !sim::Processors(machine, hardware.host).are_shared()) {}

  /// Where every pair has up to `most` bytes; nullopt where that takes too long to find.
  std::optional<SlotChoice::Way> of(const Algorithm& algorithm, std::uint64_t most) const {
    const bool has_slots = algorithm.reads(algorithm::Parameter::slot);
    const Circulant calls(machine_, most, has_slots);
    const auto plan_of = [&](int rank) { return calls.plan(algorithm, rank); };
    const auto time_ns = simulated(plan_of);
    if (!time_ns) return std::nullopt;
    return SlotChoice::Way{algorithm.name(), *time_ns, measured_ns(plan_of)};
  }

  /// By node where nodes have several ranks.
  std::optional<SlotChoice::Way> in_slots(int radix, std::uint64_t slot) const {
    const std::string name = fmt::format(
        "{}radix={},slot={}", machine_.widest() > 1 ? "sa:between=bruck," : "bruck:", radix, slot);
    return of(Algorithm::parse(Collective::alltoallv, name), slot);
  }

  std::optional<SlotChoice::Way> best_radix(std::uint64_t slot, int& radix) const {
    std::optional<SlotChoice::Way> best;
    for (const int one : kRadices) {
      auto way = in_slots(one, slot);
      if (!way || (best && best->time_ns <= way->time_ns)) continue;
      best = std::move(way);
      radix = one;
    }
    return best;
  }

 private:
  std::optional<double> simulated(const sim::PlanSource& plan_of) const {
    if (by_class_) {
      const auto found = sim::find_classes(plan_of, machine_, {0, kMostPlansOfClasses});
      if (const auto* classes = std::get_if<sim::Classes>(&found)) {
        const auto result = sim::simulate(*classes, machine_, hardware_, {});
        if (const auto* times = std::get_if<sim::Result>(&result)) return times->time_ns;
      }
    }
    const auto ranks = static_cast<std::uint64_t>(machine_.ranks());
    if (plan_of(0).ops().size() * ranks > kMostOpsOfAll) return std::nullopt;
    return sim::simulate(plan_of, machine_, hardware_).time_ns;
  }

  static double measured_ns(const sim::PlanSource& plan_of) {
    using Clock = std::chrono::steady_clock;
    double least_ns = 1e18;
    for (int i = 0; i < kMeasured; ++i) {
      const auto begin = Clock::now();
      plan_of(0);
      least_ns = std::min(least_ns,
                          std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    }
    return least_ns;
  }

  const hierarchy::Machine& machine_;
  const sim::Hardware& hardware_;
  const bool by_class_;
};

}  // namespace

SlotChoice SlotChoice::simulate(const Algorithm& base, const Facts& facts,
                                const sim::Hardware& hardware) {
  SlotChoice choice;
  const hierarchy::Machine& machine = facts.machine;
  if (machine.nodes() == 1 || machine.ranks() > kMostRanks) return choice;
  Problem problem = Problem::alltoall(machine.ranks(), PairCounts::kSizes.front());
  problem.collective = Collective::alltoallv;
  const sim::Hardware known = counted(problem, facts, hardware);
  const Times times(machine, known);
  const auto without = times.of(base, PairCounts::kSizes.front());
  if (!without) return choice;
  std::vector<Way> ways = {*without};
  int radix = 0;  // the best of the first size serves all
  for (const std::uint64_t slot : PairCounts::kSizes) {
    const auto way = radix == 0 ? times.best_radix(slot, radix) : times.in_slots(radix, slot);
    // Larger ones take longer.
    if (!way || kMargin * way->time_ns > without->time_ns) break;
    ways.push_back(*way);
  }
  const auto straight =
      times.of(Algorithm::parse(Collective::alltoallv, "isend"), PairCounts::kSizes.front());
  if (!straight) return choice;
  choice.ways_ = std::move(ways);
  choice.all_blocks_ = 2.0 * (machine.ranks() - machine.widest());
  choice.message_ns_ = straight->time_ns / choice.all_blocks_;
  return choice;
}

std::size_t SlotChoice::choose(const PairCounts& counts, std::size_t running) const {
  const double part = std::min(1.0, static_cast<double>(counts.blocks) / all_blocks_);
  const auto planning_ns = [&](const Way& way) {
    return static_cast<double>(counts.planning_ns) * way.planning_ns /
           std::max(1.0, ways_[running].planning_ns);
  };
  std::size_t best = 0;
  double best_ns = part * ways_.front().time_ns + planning_ns(ways_.front());
  for (std::size_t i = 1; i < ways_.size(); ++i) {
    const double time_ns = ways_[i].time_ns +
                           static_cast<double>(counts.larger[i - 1]) * message_ns_ +
                           planning_ns(ways_[i]);
    const double margin = best == 0 ? kMargin : 1;
    if (margin * time_ns > best_ns) continue;
    best = i;
    best_ns = time_ns;
  }
  return best;
}

std::string SlotChoice::to_text() const {
  std::string text = fmt::format("{} {}", message_ns_, all_blocks_);
  for (const Way& way : ways_) {
    text += fmt::format(" {} {} {}", way.algorithm, way.time_ns, way.planning_ns);
  }
  return text;
}

SlotChoice SlotChoice::from_text(std::string_view text) {
  SlotChoice choice;
  const auto next = [&text] {
    const auto end = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  const auto number = [&next] {  // whatever the program's locale is
    const std::string word = next();
    double value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  choice.message_ns_ = number();
  choice.all_blocks_ = number();
  while (!text.empty()) {
    Way way;
    way.algorithm = next();
    way.time_ns = number();
    way.planning_ns = number();
    choice.ways_.push_back(std::move(way));
  }
  return choice;
}

}  // namespace weft::tune
