// weft check: proves that plans are right, without running them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/campaign.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/placements.hpp"
#include "cli/plan_files.hpp"
#include "hierarchy/detect.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kFailuresShown = 5;

struct Options {
  Text collective, ranks, placements, seed, bytes, stride, jobs;
  std::vector<std::string> machines, algorithms, files;
  bool json = false;
};

/// The size and distance of a problem's blocks.
struct Blocks {
  std::uint64_t bytes;
  std::optional<std::uint64_t> stride;
};

/// What is proved where --bytes does not say: blocks side by side, which join into long slices, and
/// odd ones with a gap, which do not.
const std::vector<Blocks> kDefaultBlocks = {{8, std::nullopt}, {7, 16}};

std::vector<Blocks> read_blocks(const Options& options) {
  const auto stride = parse_stride(options.stride);
  if (!options.bytes) {
    if (stride) throw_usage("--stride={}: needs --bytes", *stride);
    return kDefaultBlocks;
  }
  std::vector<Blocks> blocks;
  for (const auto bytes : parse_sizes("--bytes", *options.bytes, 0, kMostBlockBytes)) {
    blocks.push_back({bytes, stride});
  }
  return blocks;
}

/// The machines to check on, in ascending order of ranks.
std::vector<hierarchy::Machine> read_machines(const Options& options) {
  std::vector<hierarchy::Machine> machines;
  if (!options.machines.empty()) {
    for (const auto& [name, text] :
         {std::pair("--ranks", &options.ranks), std::pair("--placements", &options.placements),
          std::pair("--seed", &options.seed)}) {
      if (*text) throw_usage("{}={}: not together with --machine", name, **text);
    }
    for (const std::string& text : options.machines) machines.push_back(parse_machine(text));
    return machines;
  }
  const Range range = parse_range("--ranks", options.ranks.value_or("1..16"), 1, kMostRanks);
  const auto count = static_cast<int>(
      env::parse_integer("--placements", options.placements.value_or("6"), 1, 1000));
  const auto seed = static_cast<std::uint64_t>(
      env::parse_integer("--seed", options.seed.value_or("1"), 0, INT64_MAX));
  for (int ranks = range.first; ranks <= range.last; ++ranks) {
    std::ranges::move(placements(ranks, count, seed), std::back_inserter(machines));
  }
  return machines;
}

/// The part of an algorithm's name before its parameters.
std::string family(const alltoall::Algorithm& algorithm) {
  const std::string name = algorithm.name();
  return name.substr(0, name.find(':'));
}

std::string command_for(const Case& one) {
  std::string command =
      fmt::format("weft check alltoall --algorithm {} --machine {} --bytes {}",
                  one.algorithm->name(), to_string(*one.machine), one.problem.block_bytes);
  if (one.problem.stride != one.problem.block_bytes) {
    command += fmt::format(" --stride {}", one.problem.stride);
  }
  return command;
}

struct Failure {
  std::string command;  // that shows it again
  std::vector<std::string> findings;
};

/// What was proved of one family of algorithms, or in all.
struct Sum {
  std::string name;
  std::set<std::string> variants = {};
  std::uint64_t problems = 0, plans = 0, ops = 0, messages = 0, failed = 0;

  void add(const Proof& proof) {
    ++problems;
    plans += proof.plans;
    ops += proof.ops;
    messages += proof.messages;
    failed += proof.holds() ? 0 : 1;
  }
  Json json() const {
    return {{"name", name}, {"variants", variants.size()}, {"problems", problems}, {"plans", plans},
            {"ops", ops},   {"messages", messages},        {"failed", failed}};
  }
};

struct Result {
  std::vector<Sum> families;
  Sum total{"total"};
  std::vector<Failure> failures;
  std::size_t machines = 0;
  int threads = 1;
  double seconds = 0;

  void add(const Case& one, const Proof& proof) {
    const std::string name = family(*one.algorithm);
    auto sum = std::ranges::find(families, name, &Sum::name);
    if (sum == families.end()) sum = families.insert(families.end(), Sum{name});
    for (Sum* target : {&*sum, &total}) {
      target->add(proof);
      target->variants.insert(one.algorithm->name());
    }
    if (!proof.holds()) failures.push_back({command_for(one), proof.findings});
  }
};

std::string failures_text(std::span<const Failure> failures) {
  std::string text;
  for (const Failure& failure : failures.first(std::min(failures.size(), kFailuresShown))) {
    text += fmt::format("\nFAILED: {}\n", failure.command);
    for (const std::string& finding : failure.findings) text += fmt::format("  {}\n", finding);
  }
  return text;
}

std::string to_text(const Result& result) {
  std::string text = fmt::format("{:<15}{:>9}{:>10}{:>12}{:>14}{:>14}{:>8}\n", "algorithm",
                                 "variants", "problems", "plans", "ops", "messages", "failed");
  const auto line = [&](const Sum& sum) {
    text += fmt::format("{:<15}{:>9}{:>10}{:>12}{:>14}{:>14}{:>8}\n", sum.name, sum.variants.size(),
                        sum.problems, sum.plans, sum.ops, sum.messages, sum.failed);
  };
  for (const Sum& sum : result.families) line(sum);
  line(result.total);
  text += failures_text(result.failures);
  const std::string effort =
      fmt::format("{} on {}, {:.1f} s on {}", counted(result.total.problems, "problem"),
                  counted(result.machines, "machine"), result.seconds,
                  counted(static_cast<std::uint64_t>(result.threads), "thread"));
  if (result.failures.empty()) {
    return text +
           fmt::format(
               "\nAll proved: every block delivered, sends and recvs match, all accesses in "
               "bounds, "
               "no data race,\nno deadlock by rendezvous or with 1 or 8 messages buffered. {}.\n",
               effort);
  }
  return text + fmt::format("\n{} of {} FAILED.\n", result.failures.size(), effort);
}

Json to_json(std::span<const Failure> failures) {
  Json list = Json::array();
  for (const Failure& failure : failures) {
    list.push_back({{"command", failure.command}, {"findings", failure.findings}});
  }
  return list;
}

Json to_json(const Result& result) {
  Json json = result.total.json();
  json.erase("name");
  Json families = Json::array();
  for (const Sum& sum : result.families) families.push_back(sum.json());
  json["holds"] = result.failures.empty();
  json["machines"] = result.machines;
  json["threads"] = result.threads;
  json["seconds"] = result.seconds;
  json["algorithms"] = families;
  json["failures"] = to_json(result.failures);
  return json;
}

/// The algorithms to check on some number of ranks.
std::vector<alltoall::Algorithm> read_algorithms(const Options& options, int ranks) {
  if (options.algorithms.empty()) return alltoall::variants(ranks);
  std::vector<alltoall::Algorithm> algorithms;
  for (const auto& text : options.algorithms) {
    algorithms.push_back(alltoall::Algorithm::parse(text));
  }
  return algorithms;
}

int check_algorithms(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto blocks = read_blocks(options);
  const auto machines = read_machines(options);
  Result result;
  result.machines = machines.size();
  result.threads = options.jobs
                       ? static_cast<int>(env::parse_integer("--jobs", *options.jobs, 1, 1024))
                       : hierarchy::usable_cores();
  std::vector<std::vector<alltoall::Algorithm>> algorithms;  // by machine
  std::vector<Case> cases;
  for (const auto& machine : machines) {
    algorithms.push_back(read_algorithms(options, machine.ranks()));
  }
  for (std::size_t i = 0; i < machines.size(); ++i) {
    for (const auto& algorithm : algorithms[i]) {
      for (const auto& [bytes, stride] : blocks) {
        cases.push_back(
            {&algorithm, &machines[i], make_problem(machines[i].ranks(), bytes, stride)});
      }
    }
  }
  const auto proofs = prove_all(cases, result.threads);
  for (std::size_t i = 0; i < cases.size(); ++i) result.add(cases[i], proofs[i]);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  options.json ? print_json(to_json(result)) : print(to_text(result));
  return result.failures.empty() ? kHolds : kFails;
}

/// Verifies the plans that files hold, instead of those of an algorithm.
int check_files(const Options& options) {
  if (options.machines.size() != 1) {
    throw_usage("--file needs one --machine: the placement that the plans are for");
  }
  if (!options.algorithms.empty()) {
    throw_usage("--algorithm={}: not together with --file", options.algorithms.front());
  }
  const auto machine = read_machines(options).front();
  required(options.bytes, "--bytes, the size of the blocks that the plans in --file exchange,");
  const auto blocks = read_blocks(options);
  if (blocks.size() != 1) throw_usage("--bytes={}: with --file one size", *options.bytes);
  const auto problem = make_problem(machine.ranks(), blocks[0].bytes, blocks[0].stride);
  const Proof proof = prove(problem, machine, read_plans(options.files));
  if (options.json) {
    print_json(Json{{"holds", proof.holds()},
                    {"problems", 1},
                    {"plans", proof.plans},
                    {"ops", proof.ops},
                    {"messages", proof.messages},
                    {"findings", proof.findings}});
  } else {
    std::string text;
    for (const std::string& finding : proof.findings) text += finding + "\n";
    print(text + fmt::format("{}, {}, {}: {}\n", counted(proof.plans, "plan"),
                             counted(proof.ops, "op"), counted(proof.messages, "message"),
                             proof.holds() ? "proved" : "FAILED"));
  }
  return proof.holds() ? kHolds : kFails;
}

int run(const Options& options) {
  parse_collective(options.collective);
  return options.files.empty() ? check_algorithms(options) : check_files(options);
}

void add_options(CLI::App& command, Options& options) {
  command.add_option("collective", options.collective, "What to check: alltoall")
      ->type_name("COLLECTIVE");
  const auto several = [&](const char* name, std::vector<std::string>& texts, const char* help) {
    return command.add_option(name, texts, help)->allow_extra_args(false);
  };
  command.add_option("--ranks", options.ranks, "Numbers of ranks, N or A..B [1..16]")
      ->type_name("A..B");
  command
      .add_option("--placements", options.placements,
                  "Placements for each number of ranks: even blocks, cyclic, uneven blocks, one "
                  "rank a node, one node, then random ones [6]")
      ->type_name("N");
  command.add_option("--seed", options.seed, "Seed of the random placements [1]")->type_name("N");
  several("--machine", options.machines,
          "Instead of --ranks: this placement, 3x4, 3x4:cyclic, 1+3+4 or 0,1,0,1 (repeatable)")
      ->type_name("M");
  several("--algorithm", options.algorithms,
          "This one alone (repeatable) [every variant of every algorithm]")
      ->type_name("A");
  command
      .add_option("--bytes", options.bytes,
                  "Block sizes, comma separated [8, and 7 with a stride of 16]")
      ->type_name("B,...");
  command.add_option("--stride", options.stride, "Distance of the blocks [their size]")
      ->type_name("B");
  several("--file", options.files,
          "Verify the plans in this file, folder or standard input (-) instead: one plan a rank "
          "(repeatable; with --machine and --bytes)")
      ->type_name("PATH");
  command.add_option("--jobs", options.jobs, "Threads [the cores there are]")->type_name("N");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_check(CLI::App& tool, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = tool.add_subcommand(
      "check",
      "Prove that plans are right, without running them: delivery, matching, bounds, no data race, "
      "no deadlock");
  add_options(*command, *options);
  command->footer(
      "Ends with 0 when all holds, 1 when something does not, 2 for bad usage.\n\n"
      "Examples:\n"
      "  weft check alltoall --ranks 1..40\n"
      "  weft check alltoall --algorithm sa:direct=1 --machine 1+3+4 --bytes 1,512,4K\n"
      "  weft check alltoall --file plans/ --machine 3x4 --bytes 512\n\n" +
      list_algorithms());
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::cli
