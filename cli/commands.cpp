#include "cli/commands.hpp"

namespace weft::cli {

void add_commands(CommandLine& line) {
  add_info(line);
  add_doctor(line);
  add_plan(line);
  add_check(line);
  add_sim(line);
  add_explain(line);
  add_exec(line);
  add_install(line);
  add_preload(line);
  add_probe(line);
  add_replay(line);
  add_report(line);
  add_run(line);
  add_stuck(line);
  add_tune(line);
}

}  // namespace weft::cli
