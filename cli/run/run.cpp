// weft run: starts the ranks of a program that is written to weft's own API.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/cast.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/programs.hpp"
#include "cli/run/launch.hpp"
#include "comm/bootstrap/secret.hpp"
#include "comm/bootstrap/tcp_address.hpp"

namespace weft::cli {

namespace {

struct RunOptions {
  Text ranks;
  bool one_address_space = false;
};

int run(const RunOptions& options, std::vector<std::string> words) {
  if (words.empty()) throw_usage("run: no program given");
  if (words.front().starts_with("-")) {
    throw_usage("run {}: no such option; there are -n, --one-address-space, --help", words.front());
  }
  Launch launch;
  launch.ranks = checked_cast<int>(
      env::parse_integer("-n", required(options.ranks, "run: -n RANKS"), 1, 4096));
  launch.program = find_program("run", words.front());
  launch.arguments = std::move(words);
  const File port = comm::reserve_root(launch.root);
  const File secret = comm::make_secret(launch.secret);
  return options.one_address_space ? run_in_one_address_space(launch) : run_processes(launch);
}

}  // namespace

std::vector<std::string> environment_of(const Launch& launch, int rank) {
  const std::vector<std::pair<std::string, std::string>> ours = {
      {"WEFT_RANK", std::to_string(rank)},
      {"WEFT_SIZE", std::to_string(launch.ranks)},
      {"WEFT_ROOT", launch.root},
      {"WEFT_SECRET_FILE", launch.secret}};
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::ranges::any_of(
        ours, [&](const auto& one) { return text.starts_with(one.first + "="); });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : ours) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

void add_run(CommandLine& line) {
  const auto options = std::make_shared<RunOptions>();
  Command command = line.add_command("run", "Run a program written to weft's API");
  command.add_option("-n", options->ranks, "RANKS", "How many ranks, from 1 to 4096");
  command.add_flag("--one-address-space", options->one_address_space,
                   "Ranks are threads of one process, at most 15, each with globals of its own: "
                   "they read one another's memory where it lies");
  command.set_with_rest(
      "PROGRAM [ARGUMENTS]",
      "The program finds its rank by weft::tcp_bootstrap(), as WEFT_RANK, WEFT_SIZE, WEFT_ROOT\n"
      "and WEFT_SECRET_FILE (a file without a name, which it inherits) are set for it. All ranks "
      "run on this machine. One address space asks for a program that "
      "is\n"
      "position independent and has its symbols; a signal that ends one rank ends all.\n\n"
      "Ends with 0 when all ranks succeed, else with the exit code of the first rank that fails\n"
      "(128 and the signal where a signal ended it); the others are ended then. 2 for bad "
      "usage.\n\n"
      "Examples:\n"
      "  weft run -n 8 ./program\n"
      "  weft run --one-address-space -n 8 ./program --its-own-option",
      [options](std::vector<std::string> words) { return run(*options, std::move(words)); });
}

}  // namespace weft::cli
