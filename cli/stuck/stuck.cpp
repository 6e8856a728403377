// weft stuck: says why the ranks of a running job do not go on.
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/stuck/jobs.hpp"
#include "cli/stuck/stacks.hpp"
#include "cli/stuck/standstill_json.hpp"
#include "cli/terminal/output.hpp"
#include "engine/board/report.hpp"

namespace weft::cli {

namespace {

namespace board = engine::board;

struct StuckOptions {
  Text job;
  bool json = false;
  bool stacks = true;
};

int run(const StuckOptions& options) {
  const std::vector<pid_t> processes = processes_of(options.job);
  if (processes.empty() && options.job) {
    throw Error(fmt::format("{}: no process of that runs over weft here", *options.job));
  }
  const StackReader stacks = options.stacks ? find_stack_reader() : StackReader();
  const auto stack_of = [&](pid_t process) { return stack_lines(stacks, process); };
  board::ask_for_other_nodes(processes);
  const auto standstills = board::find_standstills(processes);
  if (options.json) {
    print_json(to_json_form(processes, standstills, [&](pid_t process) {
      return stacks ? read_stack(stacks, process) : std::string();
    }));
    return kHolds;
  }
  if (processes.empty()) print("no process of this user runs over weft here\n");
  if (!processes.empty() && standstills.empty()) {
    print(fmt::format("no rank is in a call (looked at processes: {})\n", processes.size()));
  }
  for (const board::Seen& one : standstills) {
    print(board::to_text(one.communicator, one.standstill,
                         stacks ? std::function<std::string(pid_t)>(stack_of) : nullptr));
  }
  return kHolds;
}

}  // namespace

void add_stuck(CommandLine& line) {
  const auto options = std::make_shared<StuckOptions>();
  Command command = line.add_command("stuck", "Say why the ranks of a running job stand still");
  command.add_option("job", options->job, "PID|JOB",
                     "A process of the job or one that started it (mpirun), or the launcher's\n"
                     "number of the job; else all jobs of this user on this host");
  command.add_clearing_flag("--no-stacks", options->stacks,
                            "Do not ask eu-stack or gdb for the stacks of ranks that are missing");
  command.add_flag("--json", options->json, "Print JSON: docs/stuck.schema.json describes it");
  command.set(
      "Reads what the ranks on this host write down as they call: their processes need not "
      "answer,\n"
      "and may be stopped. Prints, for each communicator in which ranks are in a call: ranks that\n"
      "made another call; ranks that have not arrived, with the state of their process, the CPU\n"
      "time that it has used since, and its stack; ranks that are dead or stopped; and the wait\n"
      "that holds up the others.\n\n"
      "Ends with 0, 1 when the job that is named is not here, 2 when the command line is wrong.\n\n"
      "Examples:\n"
      "  weft stuck\n"
      "  pgrep mpirun | xargs -n 1 weft stuck\n"
      "  weft stuck --json --no-stacks",
      [options] { return run(*options); });
}

}  // namespace weft::cli
