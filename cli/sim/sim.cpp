// weft sim: simulates algorithms on a cluster and shows their times.
#include <fstream>
#include <memory>
#include <optional>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/algorithm_names.hpp"
#include "cli/options/scenario.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "sim/simulator.hpp"

namespace weft::cli {

namespace {

struct SimOptions {
  ScenarioOptions scenario;
  Text trace, jitter, seed;
  std::vector<std::string> algorithms;
  bool breakdown = false;
  bool whole = false;
  bool json = false;
};

// Of larger machines one rank of each class is simulated.
constexpr int kMostRanksWhole = 4096;

struct Outcome {
  std::string algorithm;
  std::uint64_t bytes = 0;
  sim::Result result;
};

/// The values of --algorithm: names joined by commas; commas also separate parameters of a name.
std::vector<std::string> read_names(const SimOptions& options, plan::Collective collective) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view list) {
    while (!list.empty()) {
      const auto comma = std::min(list.find(','), list.size());
      const std::string part(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
      const bool parameter = part.find('=') != part.npos && part.find(':') == part.npos;
      if (parameter && !names.empty()) {
        names.back() += "," + part;
      } else if (part.find_first_not_of(' ') != part.npos) {
        names.push_back(part.substr(part.find_first_not_of(' ')));
      }
    }
  };
  for (const std::string& text : options.algorithms) {
    add(text == "all" ? algorithm_names(collective) : text);
  }
  if (names.empty()) {
    throw_usage("--algorithm (all, or some of {}) is missing", algorithm_names(collective));
  }
  return names;
}

bool is_all(const SimOptions& options) {
  return options.algorithms == std::vector<std::string>{"all"};
}

sim::Options simulation_options(const SimOptions& options) {
  sim::Options made;
  made.breakdown = options.breakdown;
  if (options.jitter) {
    made.jitter_ns =
        static_cast<double>(env::parse_integer("--jitter", *options.jitter, 0, 1'000'000'000));
  }
  if (options.seed) {
    made.seed = static_cast<std::uint64_t>(
        env::parse_integer("--seed", *options.seed, 0, std::numeric_limits<std::int64_t>::max()));
  }
  return made;
}

class Simulations {
 public:
  explicit Simulations(const SimOptions& options)
      : options_(options), scenario_(options.scenario) {}

  void run() {
    const auto names = read_names(options_, scenario_.collective());
    bar_.emplace("simulating", names.size() * scenario_.sizes().size() * kParts);
    for (const std::string& name : names) {
      const Algorithm algorithm = Algorithm::parse(scenario_.collective(), name);
      for (const std::uint64_t bytes : scenario_.sizes()) {
        run(algorithm, bytes);
        ++done_;
      }
    }
    bar_.reset();
    if (options_.trace) write_trace(*options_.trace);
  }

  Json to_json() const {
    Json results = Json::array();
    for (const Outcome& one : outcomes_) {
      Json entry = {{"algorithm", one.algorithm},
                    {"bytes", one.bytes},
                    {"time_us", one.result.time_ns / 1e3},
                    {"simulated_ranks", one.result.simulated}};
      if (one.result.counted) {
        entry["messages"] = one.result.messages;
        entry["wire_bytes"] = one.result.wire_bytes;
      }
      if (!one.result.whole.empty()) entry["no_classes"] = one.result.whole;
      for (std::size_t cost = 0; options_.breakdown && cost < sim::kCosts; ++cost) {
        entry["breakdown_us"][std::string(to_string(static_cast<sim::Cost>(cost)))] =
            one.result.breakdown_ns[cost] / 1e3;
      }
      results.push_back(entry);
    }
    return {{"collective", to_string(scenario_.collective())},
            {"machine", to_string(scenario_.machine())},
            {"nic", scenario_.profile().name},
            {"results", results}};
  }

  std::string to_table() const {
    std::string text = fmt::format("{} on {} with {}\n\n{:<32}{:>12}{:>14}{:>12}{:>16}",
                                   to_string(scenario_.collective()),
                                   to_string(scenario_.machine()), scenario_.profile().name,
                                   "algorithm", "bytes", "time us", "messages", "wire bytes");
    for (std::size_t cost = 0; options_.breakdown && cost < sim::kCosts; ++cost) {
      text += fmt::format("{:>13}", to_string(static_cast<sim::Cost>(cost)));
    }
    text += "\n";
    for (const Outcome& one : outcomes_) {
      const auto number = [&](std::uint64_t counted) {
        return one.result.counted ? std::to_string(counted) : "-";
      };
      text += fmt::format("{:<32}{:>12}{:>14.3f}{:>12}{:>16}", one.algorithm, one.bytes,
                          one.result.time_ns / 1e3, number(one.result.messages),
                          number(one.result.wire_bytes));
      for (std::size_t cost = 0; options_.breakdown && cost < sim::kCosts; ++cost) {
        text += fmt::format("{:>11.1f} %", 100 * one.result.breakdown_ns[cost] /
                                               std::max(1e-3, one.result.time_ns));
      }
      text += "\n";
    }
    return text + classes_text();
  }

 private:
  /// How many ranks stood for all, where not all were simulated, and why not.
  std::string classes_text() const {
    std::string text;
    const int ranks = scenario_.machine().ranks();
    for (const Outcome& one : outcomes_) {
      if (one.result.simulated < ranks) {
        text += fmt::format("\n{}, {}: {} of {} ranks simulated, one for each class.",
                            one.algorithm, counted(one.bytes, "byte"), one.result.simulated, ranks);
      } else if (!one.result.whole.empty()) {
        text += fmt::format("\n{}, {}: all ranks simulated: {}.", one.algorithm,
                            counted(one.bytes, "byte"), one.result.whole);
      }
    }
    return text.empty() ? text : text + "\n";
  }

  void run(const Algorithm& algorithm, std::uint64_t bytes) {
    const hierarchy::Machine& machine = scenario_.machine();
    // Of more ranks few plans are made, and the counts of all would not fit into memory.
    const bool is_large = machine.ranks() > kMostRanksWhole;
    const plan::Problem problem =
        is_large ? scenario_.without_counts(bytes) : scenario_.problem(bytes);
    // With "all", algorithms that do not apply are left out.
    if (is_all(options_) && algorithm.refusal(problem, machine)) return;
    sim::Options options = simulation_options(options_);
    options.by_class = machine.ranks() > kMostRanksWhole && !options_.whole && !options_.trace;
    options.root = is_rooted(problem.collective) ? problem.root : 0;
    if (options_.trace) {
      const auto nodes = machine.node_of_rank();
      traces_.push_back({fmt::format("{} of {} bytes by {} on {}", to_string(problem.collective),
                                     bytes, algorithm.name(), scenario_.profile().name),
                         {nodes.begin(), nodes.end()},
                         {}});
      options.trace = &traces_.back();
    }
    options.progress = [&](std::uint64_t ops, std::uint64_t of) {
      show(kPlanning + (1 - kPlanning) * static_cast<double>(ops) / static_cast<double>(of));
    };
    const auto plan_of = [&](int rank) {
      if (rank % kRanksPerLook == 0) show(kPlanning * rank / machine.ranks());
      return is_large ? scenario_.plan(algorithm, problem, rank)
                      : algorithm.plan(problem, machine, rank);
    };
    outcomes_.push_back({algorithm.name(), bytes,
                         simulate(plan_of, machine, scenario_.profile().hardware, options)});
  }

  /// Shows progress: `part`, from 0 to 1, of the current simulation is done.
  void show(double part) {
    bar_->update(done_ * kParts + static_cast<std::uint64_t>(part * kParts));
  }

  void write_trace(const std::string& path) const {
    const bool svg = path.ends_with(".svg");
    if (!svg && !path.ends_with(".json")) {
      throw_usage("--trace={}: must end with .json (for Perfetto) or .svg", path);
    }
    std::ofstream file(path, std::ios::binary);
    file << (svg ? plan::to_svg(traces_) : plan::to_trace_events(traces_));
    file.close();
    if (!file) throw_errno(fmt::format("write({})", path));
  }

  // Progress of one simulation: its steps, and the part of it that plans take.
  static constexpr std::uint64_t kParts = 1000;
  static constexpr double kPlanning = 0.3;
  static constexpr int kRanksPerLook = 64;

  const SimOptions& options_;
  Scenario scenario_;
  std::optional<Progress> bar_;
  std::uint64_t done_ = 0;  // simulations
  std::vector<Outcome> outcomes_;
  std::vector<plan::Trace> traces_;
};

int run(const SimOptions& options) {
  Simulations simulations(options);
  simulations.run();
  if (options.json) {
    print_json(simulations.to_json());
  } else {
    print(simulations.to_table());
  }
  return kHolds;
}

void add_options(Command& command, SimOptions& options) {
  options.scenario.add_to(command);
  command.add_repeated("--algorithm", options.algorithms, "A,..",
                       "Algorithms joined by commas, or all (repeatable)");
  command.add_option("--jitter", options.jitter, "NS",
                     "Delay each message by a random time of up to NS nanoseconds [0]");
  command.add_option("--seed", options.seed, "S", "Seed of the jitter [1]");
  command.add_option("--trace", options.trace, "FILE",
                     "Write a timeline of all ops: .json for Perfetto, or .svg");
  command.add_flag("--whole", options.whole,
                   "Simulate all ranks, also of more than 4096; else of those one for each class\n"
                   "of ranks that do the same, where all nodes are alike");
  command.add_flag("--breakdown", options.breakdown, "Show the parts of the time");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_sim(CommandLine& line) {
  const auto options = std::make_shared<SimOptions>();
  Command command = line.add_command(
      "sim", "Run the plans of algorithms in virtual time: how long they would take");
  add_options(command, *options);
  command.set(
      "Blocks are as in `weft plan`; of reductions they are whole vectors (reduce_scatter: a "
      "rank's\nblock).\n\n"
      "Examples:\n"
      "  weft sim alltoall --algorithm isend,sa --nodes 64 --ppn 8 --nic qle7140 --bytes 64,4K\n"
      "  weft sim allreduce --algorithm all --machine 1+3+4 --nic mt25408 --bytes 4K --json\n"
      "  weft sim alltoall --algorithm rd --machine 2x4 --nic soft --bytes 1K --trace rd.svg\n",
      [options] { return run(*options); });
}

}  // namespace weft::cli
