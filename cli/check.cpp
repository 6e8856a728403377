// weft check: proves that plans are right, without running them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/algorithms.hpp"
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
  Text collective, ranks, placements, seed, bytes, stride, root, operation, jobs;
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
const std::vector<Blocks> kDefaultBlocks = {{1, std::nullopt}, {7, 16}, {64, std::nullopt}};

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
std::string family(const Algorithm& algorithm) {
  return algorithm.name.substr(0, algorithm.name.find(':'));
}

std::string command_for(const Case& one) {
  std::string command = fmt::format("weft check {} --algorithm {} --machine {} --bytes {}",
                                    to_string(one.problem.collective), one.algorithm->name,
                                    to_string(*one.machine), one.problem.block_bytes);
  if (one.problem.stride != one.problem.block_bytes) {
    command += fmt::format(" --stride {}", one.problem.stride);
  }
  if (is_rooted(one.problem.collective)) command += fmt::format(" --root {}", one.problem.root);
  if (is_reduction(one.problem.collective)) {
    command += fmt::format(" --operation {}", operation_of(one.problem));
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
      target->variants.insert(one.algorithm->name);
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
  const bool more = result.failures.size() > kFailuresShown;
  return text + fmt::format("\nFAILED: {} of {}.{}\n", result.failures.size(), effort,
                            more ? fmt::format(" The first {} are above.", kFailuresShown) : "");
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
std::vector<Algorithm> read_algorithms(const Options& options, plan::Collective collective,
                                       int ranks) {
  if (options.algorithms.empty()) return algorithm_variants(collective, ranks);
  std::vector<Algorithm> algorithms;
  for (const auto& text : options.algorithms) {
    algorithms.push_back(parse_algorithm(collective, text));
  }
  return algorithms;
}

/// The problem with every root (the first, the last and one between, unless one is given) and every
/// kind of operation (unless one is given).
std::vector<plan::Problem> vary(const Options& options, const plan::Problem& problem) {
  std::vector<plan::Problem> problems = {problem};
  if (is_rooted(problem.collective)) {
    std::set<int> roots = {0, problem.ranks / 2, problem.ranks - 1};
    if (options.root) {
      roots = {static_cast<int>(env::parse_integer("--root", *options.root, 0, problem.ranks - 1))};
    }
    problems.clear();
    for (const int root : roots) problems.emplace_back(problem).root = root;
  }
  if (!is_reduction(problem.collective)) return problems;
  std::vector<plan::Problem> varied;
  for (const plan::Problem& one : problems) {
    for (const std::string_view operation : kOperations) {
      if (options.operation && *options.operation != operation) continue;
      set_operation(varied.emplace_back(one), operation);
    }
  }
  return varied;
}

/// The collective; UsageError for options that it does not take.
plan::Collective read_collective(const Options& options) {
  const auto collective = parse_collective(options.collective);
  const auto expect = [&](std::string_view option, const Text& text, bool is_right) {
    if (text && !is_right) {
      throw_usage("{}={}: {} takes none", option, *text, to_string(collective));
    }
  };
  expect("--root", options.root, is_rooted(collective));
  expect("--operation", options.operation, is_reduction(collective));
  plan::Problem any;
  if (options.operation) set_operation(any, *options.operation);
  return collective;
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
  const auto collective = read_collective(options);
  std::vector<std::vector<Algorithm>> algorithms;  // by machine
  std::vector<Case> cases;
  for (const auto& machine : machines) {
    algorithms.push_back(read_algorithms(options, collective, machine.ranks()));
  }
  for (std::size_t i = 0; i < machines.size(); ++i) {
    for (const auto& algorithm : algorithms[i]) {
      for (const auto& [bytes, stride] : blocks) {
        const auto problem = make_problem(collective, machines[i].ranks(), bytes, stride);
        for (const auto& one : vary(options, problem)) {
          // What is asked for by name says itself why not.
          if (options.algorithms.empty() && algorithm.refusal(one, machines[i])) continue;
          cases.push_back({&algorithm, &machines[i], one});
        }
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
  // Of a rooted collective the first root, of a reduction any commutative operation, unless told.
  const auto problem = vary(options, make_problem(read_collective(options), machine.ranks(),
                                                  blocks[0].bytes, blocks[0].stride))
                           .front();
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
  command.add_option("collective", options.collective, "What to check: alltoall, broadcast, ...")
      ->type_name("COLLECTIVE");
  const auto several = [&](const char* name, std::vector<std::string>& texts, const char* help) {
    return command.add_option(name, texts, help)->allow_extra_args(false);
  };
  command.add_option("--ranks", options.ranks, "Numbers of ranks, N or A..B [1..16]")
      ->type_name("A..B");
  command
      .add_option("--placements", options.placements,
                  "Placements for each number of ranks: even blocks, cyclic, uneven\n"
                  "blocks, one rank a node, one node, then random ones [6]")
      ->type_name("N");
  command.add_option("--seed", options.seed, "Seed of the random placements [1]")->type_name("N");
  several("--machine", options.machines,
          "Instead of --ranks: this placement, 3x4, 3x4:cyclic, 1+3+4 (ranks a\n"
          "node) or 0,1,0,1 (the node of each rank) (repeatable)")
      ->type_name("M");
  several("--algorithm", options.algorithms,
          "This one alone (repeatable) [every variant of every algorithm]")
      ->type_name("A");
  command
      .add_option("--bytes", options.bytes,
                  "Block sizes, comma separated [1, 64, and 7 with a stride of 16]")
      ->type_name("B,...");
  command.add_option("--stride", options.stride, "Distance of the blocks [their size]")
      ->type_name("B");
  command.add_option("--root", options.root, "Root of rooted collectives [first, middle and last]")
      ->type_name("R");
  command
      .add_option("--operation", options.operation,
                  "What reductions may rely on: commutative, ordered (not commutative),\n"
                  "exact (associative to the bit, too) [each]")
      ->type_name("HOW");
  several("--file", options.files,
          "Verify the plans in this file, folder or standard input (-) instead:\n"
          "one plan a rank (repeatable; with --machine and --bytes)")
      ->type_name("PATH");
  command.add_option("--jobs", options.jobs, "Threads [the cores there are]")->type_name("N");
  command.add_flag("--json", options.json, "Print JSON")->disable_flag_override();
}

}  // namespace

void add_check(CLI::App& tool, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      tool.add_subcommand("check", "Prove that plans are right, without running them");
  add_options(*command, *options);
  command->footer(
      "Ends with 0 when all holds, 1 when something does not, 2 for bad usage.\n\n"
      "Examples:\n"
      "  weft check alltoall --ranks 1..40\n"
      "  weft check alltoall --algorithm sa:direct=1 --machine 1+3+4 --bytes 1,512,4K\n"
      "  weft check allreduce --ranks 1..16\n"
      "  weft check alltoall --file plans/ --machine 3x4 --bytes 512\n\n" +
      list_algorithms());
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::cli
