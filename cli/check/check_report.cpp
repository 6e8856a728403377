#include "cli/check/check_report.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cli/options/problem_options.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kFailuresShown = 5;

std::string command_for(const Case& one) {
  const plan::Problem& problem = *one.problem;
  std::string command = fmt::format("weft check {} --algorithm {} --machine {} --bytes {}",
                                    to_string(problem.collective), one.algorithm->name(),
                                    to_string(*one.machine), problem.block_bytes);
  if (problem.stride != problem.block_bytes) command += fmt::format(" --stride {}", problem.stride);
  if (is_rooted(problem.collective)) command += fmt::format(" --root {}", problem.root);
  if (is_reduction(problem.collective)) {
    command += fmt::format(" --operation {}", operation_of(problem));
  }
  if (!one.counts.empty()) command += fmt::format(" --counts {}", one.counts);
  if (problem.in_place) command += " --in-place";
  return command;
}

std::string failures_text(std::span<const Failure> failures) {
  std::string text;
  for (const Failure& failure : failures.first(std::min(failures.size(), kFailuresShown))) {
    text += fmt::format("\nFAILED: {}\n", failure.command);
    for (const std::string& finding : failure.findings) text += fmt::format("  {}\n", finding);
  }
  return text;
}

Json failures_json(std::span<const Failure> failures) {
  Json list = Json::array();
  for (const Failure& failure : failures) {
    list.push_back({{"command", failure.command}, {"findings", failure.findings}});
  }
  return list;
}

}  // namespace

void CheckResult::add(const Case& one, const Proof& proof) {
  const std::string name(one.algorithm->base_name());
  auto sum = std::ranges::find(families, name, &Sum::name);
  if (sum == families.end()) sum = families.insert(families.end(), Sum{name});
  for (Sum* target : {&*sum, &total}) {
    target->add(proof);
    target->variants.insert(one.algorithm->name());
  }
  if (!proof.holds()) failures.push_back({command_for(one), proof.findings});
}

std::string to_text(const CheckResult& result) {
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

Json to_json(const CheckResult& result) {
  Json json = result.total.json();
  json.erase("name");
  Json families = Json::array();
  for (const Sum& sum : result.families) families.push_back(sum.json());
  json["holds"] = result.failures.empty();
  json["machines"] = result.machines;
  json["threads"] = result.threads;
  json["seconds"] = result.seconds;
  json["algorithms"] = families;
  json["failures"] = failures_json(result.failures);
  return json;
}

}  // namespace weft::cli
