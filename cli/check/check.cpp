// weft check: proves that plans are right, without running them.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/check/check_options.hpp"
#include "cli/check/check_report.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/machine_options.hpp"
#include "cli/options/problem_options.hpp"
#include "cli/plan/plan_files.hpp"
#include "cli/terminal/output.hpp"
#include "hierarchy/detect.hpp"

namespace weft::cli {

namespace {

int check_algorithms(const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto blocks = read_blocks(options);
  const auto machines = read_machines(options);
  CheckResult result;
  result.machines = machines.size();
  result.threads = options.jobs
                       ? static_cast<int>(env::parse_integer("--jobs", *options.jobs, 1, 1024))
                       : hierarchy::usable_cores();
  const auto collective = read_collective(options);
  std::vector<std::vector<Algorithm>> algorithms;  // by machine
  std::vector<std::vector<Variation>> problems;    // by machine
  for (const auto& machine : machines) {
    algorithms.push_back(read_algorithms(options, collective, machine.ranks()));
    auto& all = problems.emplace_back();
    for (const auto& [bytes, stride] : blocks) {
      std::ranges::move(vary(options, make_problem(collective, machine.ranks(), bytes, stride)),
                        std::back_inserter(all));
    }
  }
  std::vector<Case> cases;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    for (const auto& algorithm : algorithms[i]) {
      for (const auto& [problem, counts] : problems[i]) {
        // An algorithm asked for by name that may not run becomes an error of its case.
        if (options.algorithms.empty() && algorithm.refusal(problem, machines[i])) continue;
        cases.push_back({&algorithm, &machines[i], &problem, counts});
      }
    }
  }
  const auto proofs = prove_all(cases, result.threads);
  for (std::size_t i = 0; i < cases.size(); ++i) result.add(cases[i], proofs[i]);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  options.json ? print_json(to_json(result)) : print(to_text(result));
  return result.failures.empty() ? kHolds : kFails;
}

/// Verifies plans read from files.
int check_files(const CheckOptions& options) {
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
  // The defaults: the first root, a commutative operation, random counts.
  const auto problem = vary(options, make_problem(read_collective(options), machine.ranks(),
                                                  blocks[0].bytes, blocks[0].stride))
                           .front()
                           .problem;
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

int run(const CheckOptions& options) {
  parse_collective(options.collective);
  return options.files.empty() ? check_algorithms(options) : check_files(options);
}

}  // namespace

void add_check(CommandLine& line) {
  const auto options = std::make_shared<CheckOptions>();
  Command command = line.add_command("check", "Prove that plans are right, without running them");
  add_options(command, *options);
  command.set(
      "Ends with 0 when all plans are right, 1 when one is not, 2 for bad usage.\n\n"
      "Examples:\n"
      "  weft check alltoall --ranks 1..40\n"
      "  weft check alltoall --algorithm sa:direct=1 --machine 1+3+4 --bytes 1,512,4K\n"
      "  weft check alltoallv --ranks 1..6 --counts skew --in-place\n"
      "  weft check allreduce --ranks 1..16\n"
      "  weft check alltoall --file plans/ --machine 3x4 --bytes 512\n\n" +
          list_algorithms(),
      [options] { return run(*options); });
}

}  // namespace weft::cli
