// Commands of the tool: a function each, which declares the command with its options and help.
#pragma once

#include "cli/options/command.hpp"

namespace weft::cli {

void add_info(CommandLine& line);
void add_doctor(CommandLine& line);
void add_plan(CommandLine& line);
void add_check(CommandLine& line);
void add_sim(CommandLine& line);
void add_explain(CommandLine& line);
void add_exec(CommandLine& line);
void add_install(CommandLine& line);
void add_preload(CommandLine& line);
void add_probe(CommandLine& line);
void add_replay(CommandLine& line);
void add_report(CommandLine& line);
void add_run(CommandLine& line);
void add_stuck(CommandLine& line);
void add_tune(CommandLine& line);

/// All of them, in the order of the help.
void add_commands(CommandLine& line);

}  // namespace weft::cli
