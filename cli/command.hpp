// What the commands of the tool share with its main().
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace weft::cli {

/// How the tool ends; its help says the same.
enum Exit : int {
  kHolds = 0,     ///< Done; all that was asked holds.
  kFails = 1,     ///< A check failed, something is not there or the system refused.
  kBadUsage = 2,  ///< The command line, an input or a setting is wrong.
};

/// What runs once the whole command line has been read. Returns an Exit.
using Action = std::function<int()>;

// Each adds one command with its options and help; when that is the one on the command line, it
// sets `action`, which must outlive the parsing.
void add_info(CLI::App& tool, Action& action);
void add_plan(CLI::App& tool, Action& action);
void add_check(CLI::App& tool, Action& action);
void add_sim(CLI::App& tool, Action& action);
void add_explain(CLI::App& tool, Action& action);
void add_preload(CLI::App& tool, Action& action);
void add_probe(CLI::App& tool, Action& action);
void add_run(CLI::App& tool, Action& action);

}  // namespace weft::cli
