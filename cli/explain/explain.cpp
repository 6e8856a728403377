// weft explain: shows the chosen algorithm, the other candidates with their times, and the reason.
#include <fstream>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/scenario.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "nic_profiles/numbers.hpp"
#include "sim/processors.hpp"
#include "tune/decision_table.hpp"
#include "tune/sensitivity.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::cli {

namespace {

struct ExplainOptions {
  ScenarioOptions scenario;
  Text table;
  bool calls = false;
  bool loads = false;
  bool deterministic = false;
  bool all = false;
  bool sensitivity = false;
  bool json = false;
};

/// The predictions for one block size.
struct Finding {
  std::uint64_t bytes = 0;
  std::vector<tune::Prediction> predictions;
  std::optional<tune::Sensitivity> sensitivity;
};

tune::Direct direct_of(const ExplainOptions& options) {
  if (options.loads) return tune::Direct::loads;
  return options.calls ? tune::Direct::calls : tune::Direct::none;
}

class Explanation {
 public:
  explicit Explanation(const ExplainOptions& options)
      : options_(options),
        scenario_(options.scenario),
        facts_{
            scenario_.machine(), direct_of(options), options.deterministic,
            sim::Processors(scenario_.machine(), scenario_.profile().hardware.host).are_shared()} {}

  void run() {
    const std::vector<std::uint64_t>& sizes = scenario_.sizes();
    std::optional<Progress> bar;
    const bool is_small = facts_.machine.ranks() <= tune::ChoiceOptions::kMostRanksWhole;
    tune::ChoiceOptions how{.exhaustive = is_small || options_.all, .breakdown = true};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      how.progress = [&](int done, int total) {
        const auto each = static_cast<std::uint64_t>(total);
        if (!bar) bar.emplace("simulating", each * sizes.size());
        bar->update(i * each + static_cast<std::uint64_t>(done));
      };
      const auto& hardware = scenario_.profile().hardware;
      findings_.push_back(
          {sizes[i], tune::choose(scenario_.problem(sizes[i]), facts_, hardware, how), {}});
    }
  }

  /// After run(): the choice with each estimate of the profile halved and doubled.
  void vary_estimates() {
    std::optional<Progress> bar;
    for (std::size_t i = 0; i < findings_.size(); ++i) {
      Finding& one = findings_[i];
      const auto progress = [&](int done, int total) {
        const auto each = static_cast<std::uint64_t>(total);
        if (!bar) bar.emplace("varying estimates", each * findings_.size());
        bar->update(i * each + static_cast<std::uint64_t>(done));
      };
      one.sensitivity = tune::sensitivity(scenario_.problem(one.bytes), facts_, scenario_.profile(),
                                          one.predictions, progress);
    }
  }

  /// A decision table for all sizes.
  tune::DecisionTable table() const {
    tune::DecisionTable table;
    table.machine = to_string(scenario_.machine());
    table.adapter = scenario_.profile().name;
    table.date = today();
    const plan::Problem like = scenario_.problem(0);
    std::optional<Progress> bar;
    const auto progress = [&](int done, int total) {
      if (!bar) bar.emplace("tabulating", static_cast<std::uint64_t>(total));
      bar->update(static_cast<std::uint64_t>(done));
    };
    const auto& hardware = scenario_.profile().hardware;
    table.set(like.collective, tune::tabulate(like, facts_, hardware, {}, progress));
    return table;
  }

  Json to_json_form() const {
    Json results = Json::array();
    for (const Finding& one : findings_) {
      Json candidates = Json::array();
      for (const auto& prediction : one.predictions) candidates.push_back(to_json_form(prediction));
      Json result = {{"bytes", one.bytes},
                     {"chosen", one.predictions.front().algorithm.name()},
                     {"why", tune::explain(one.predictions)},
                     {"candidates", candidates}};
      if (one.sensitivity) result["sensitivity"] = to_json_form(*one.sensitivity);
      results.push_back(std::move(result));
    }
    const auto& sources = scenario_.profile().sources;
    Json estimates = Json::array();
    for (const auto& number : nic_profiles::estimates(sources)) estimates.push_back(number.path());
    return {{"collective", to_string(scenario_.collective())},
            {"machine", to_string(scenario_.machine())},
            {"nic", scenario_.profile().name},
            {"numbers", nic_profiles::said_numbers(sources).size()},
            {"estimates", estimates},
            {"results", results}};
  }

  std::string to_text() const {
    std::string text;
    for (const Finding& one : findings_) {
      if (!text.empty()) text += "\n";
      const std::string size = scenario_.collective() == plan::Collective::barrier
                                   ? ""
                                   : fmt::format(" of {}", counted(one.bytes, "byte"));
      text += fmt::format("{}{} on {} with {}\n\n{:<44}{:>12}{:>10}",
                          to_string(scenario_.collective()), size, to_string(scenario_.machine()),
                          scenario_.profile().name, "algorithm", "time us", "messages");
      for (std::size_t cost = 0; cost < sim::kCosts; ++cost) {
        text += fmt::format("{:>12}", to_string(static_cast<sim::Cost>(cost)));
      }
      text += "\n";
      for (const auto& prediction : one.predictions) text += row(prediction);
      text += fmt::format("\n{}.\n", tune::explain(one.predictions));
      if (one.sensitivity) text += sensitivity_text(one);
    }
    return text + estimates_text();
  }

 private:
  /// A line with the number of estimates in the profile; empty where there are none, unless
  /// --sensitivity asks.
  std::string estimates_text() const {
    const auto& sources = scenario_.profile().sources;
    const std::size_t estimates = nic_profiles::estimates(sources).size();
    const std::string& name = scenario_.profile().name;
    if (estimates == 0) {
      return options_.sensitivity ? fmt::format("\nNo number of {} is an estimate.\n", name) : "";
    }
    return fmt::format(
        "\n{} of {} of {} {}{}.\n", estimates,
        counted(nic_profiles::said_numbers(sources).size(), "number"), name,
        estimates == 1 ? "is an estimate" : "are estimates",
        options_.sensitivity ? "" : "; --sensitivity shows what is chosen where they are wrong");
  }

  /// The choice with each estimate halved and doubled.
  static std::string sensitivity_text(const Finding& one) {
    const tune::Sensitivity& found = *one.sensitivity;
    if (found.variations == 0) return "";
    const std::string name = one.predictions.front().algorithm.name();
    std::string text =
        fmt::format("\nEach estimate halved and doubled, the {} fastest algorithms compared: {} ",
                    found.candidates, name);
    if (found.changes.empty()) {
      return text + fmt::format("is the fastest with all {}.\n", found.variations);
    }
    text += fmt::format("is the fastest with {} of {}, and not with\n{:<36}{:<44}{:>12}{:>12}\n",
                        found.variations - static_cast<int>(found.changes.size()), found.variations,
                        "  estimate", "algorithm", "time us", "saves");
    for (const tune::Change& change : found.changes) {
      text +=
          fmt::format("  {:<34}{:<44}{:>12.3f}{:>10.1f} %\n",
                      change.path + (change.factor < 1 ? ", halved" : ", doubled"), change.chosen,
                      change.time_ns / 1e3, 100 * (1 - change.time_ns / change.before_ns));
    }
    return text;
  }

  static Json to_json_form(const tune::Sensitivity& found) {
    Json changes = Json::array();
    for (const tune::Change& change : found.changes) {
      changes.push_back({{"estimate", change.path},
                         {"factor", change.factor},
                         {"chosen", change.chosen},
                         {"time_us", change.time_ns / 1e3},
                         {"time_us_of_unchanged_choice", change.before_ns / 1e3}});
    }
    return {{"variations", found.variations},
            {"candidates", found.candidates},
            {"not_varied", found.kept},
            {"changes", changes}};
  }

  static std::string row(const tune::Prediction& one) {
    if (!one.simulated) {
      return fmt::format("{:<44}{:>12}{:>10}  not simulated\n", one.algorithm.name(),
                         fmt::format("> {:.3f}", one.bound_ns / 1e3), "-");
    }
    std::string text = fmt::format("{:<44}{:>12.3f}{:>10}", one.algorithm.name(), one.time_ns / 1e3,
                                   one.counted ? std::to_string(one.messages) : "-");
    for (std::size_t cost = 0; cost < sim::kCosts; ++cost) {
      const auto mark = static_cast<sim::Cost>(cost) == tune::dominant(one) ? '*' : ' ';
      text += fmt::format("{:>9.1f} %{}",
                          100 * one.breakdown_ns[cost] / std::max(1e-3, one.time_ns), mark);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  static Json to_json_form(const tune::Prediction& one) {
    Json breakdown = Json::object();
    for (std::size_t cost = 0; cost < sim::kCosts; ++cost) {
      breakdown[std::string(to_string(static_cast<sim::Cost>(cost)))] =
          one.breakdown_ns[cost] / 1e3;
    }
    return {{"algorithm", one.algorithm.name()},
            {"time_us", one.time_ns / 1e3},
            {"bound_us", one.bound_ns / 1e3},
            {"simulated", one.simulated},
            {"messages", one.counted ? Json(one.messages) : Json()},
            {"wire_bytes", one.counted ? Json(one.wire_bytes) : Json()},
            {"dominant", to_string(tune::dominant(one))},
            {"breakdown_us", breakdown}};
  }

  const ExplainOptions& options_;
  Scenario scenario_;
  tune::Facts facts_;
  std::vector<Finding> findings_;
};

int run(const ExplainOptions& options) {
  Explanation explanation(options);
  std::ofstream file;  // opened before the simulation, so that a wrong name is reported at once
  if (options.table) {
    if (options.scenario.collective == "alltoallv") {
      throw_usage("--table={}: not for alltoallv, whose ranks know only their own counts",
                  *options.table);
    }
    file.open(*options.table, std::ios::binary | std::ios::trunc);
    if (!file) throw_errno("open(" + *options.table + ")");
  }
  explanation.run();
  if (options.sensitivity) explanation.vary_estimates();
  if (options.table) {
    file << to_json(explanation.table()) << std::flush;
    if (!file) throw_errno("write(" + *options.table + ")");
  }
  if (options.json) {
    print_json(explanation.to_json_form());
  } else {
    print(explanation.to_text());
  }
  return kHolds;
}

}  // namespace

void add_explain(CommandLine& line) {
  const auto options = std::make_shared<ExplainOptions>();
  Command command = line.add_command(
      "explain", "Say which algorithm is chosen, what the others would cost, and why");
  options->scenario.add_to(command);
  command.add_flag("--direct", options->calls,
                   "Neighbours' buffers can be read by system calls, as by CMA\n"
                   "(large blocks of alltoallv are)");
  command.add_flag("--loads", options->loads,
                   "Neighbours' buffers can be read by loads, as in a shared heap");
  command.add_flag("--deterministic", options->deterministic,
                   "Reductions must give the same bits on every placement");
  command.add_flag("--all", options->all,
                   "On more than 512 ranks also simulate candidates whose lower bound (>) is\n"
                   "above the fastest's time");
  command.add_flag("--sensitivity", options->sensitivity,
                   "Also halve and double each number of the profile that is an estimate,\n"
                   "and show where the choice changes");
  command.add_option("--table", options->table, "FILE",
                     "Also write a table of the choices for all sizes (JSON), for WEFT_TABLE");
  command.add_flag("--json", options->json, "Print JSON");
  command.set(
      "Candidates are simulated, as by `weft sim`; the fastest is chosen. The percentages are "
      "the\nparts of the time along the chain of ops that ends last; * marks the largest.\n\n"
      "Examples:\n"
      "  weft explain alltoall --bytes 512 --nodes 64 --ppn 8 --nic qle7140\n"
      "  weft explain allreduce --bytes 8,64K --machine 4x8 --nic connectx-6 --element 8 --json\n"
      "  weft explain alltoall --bytes 512 --machine 16x8 --nic connectx-6 --sensitivity\n"
      "  weft explain alltoall --bytes 512 --nodes 4 --ppn 8 --nic mt25208 --table table.json\n",
      [options] { return run(*options); });
}

}  // namespace weft::cli
