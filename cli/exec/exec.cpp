// weft exec: runs a program with the add-on for its MPI.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/installation.hpp"
#include "cli/commands.hpp"
#include "cli/exec/program_mpi.hpp"
#include "cli/options/arguments.hpp"
#include "cli/options/programs.hpp"
#include "cli/preload/addons.hpp"
#include "cli/terminal/output.hpp"
#include "comm/setup/settings_table.hpp"

namespace weft::cli {

namespace {

// As shells, env and nohup end.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

struct ExecOptions {
  Text mpi;
  bool show = false;
};

/// Whether this process speaks for the job: it is its first rank, or no launcher has started it.
bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const auto rank = env::text(name)) return *rank == "0";
  }
  return true;
}

/// What is to be preloaded, and why the program itself runs plain. Either may be empty.
struct Choice {
  std::string preload;
  std::string why;
};

std::string guide_path() {
  return own_file("libweft-guide.so");
}

/// For a program that may start others which are to get an add-on.
Choice choose_guide(const std::string& why) {
  std::string guide = guide_path();
  if (::access(guide.c_str(), R_OK) == 0) return {guide, why};
  return {"", why.empty() ? fmt::format("linked with no MPI, and {} is missing", guide) : why};
}

bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  return std::filesystem::equivalent(one, other, ignored);
}

/// The add-on, if the MPI that it asks for is the program's own: two in one process end badly.
Choice choose_addon(const std::string& mpi, const ProgramMpi& program) {
  const Addon addon = mpi_addon(mpi);
  if (!addon.exists) return {"", fmt::format("its MPI is {}, and {} is missing", mpi, addon.path)};
  if (program.linker.empty()) return {addon.path, ""};
  const MpiLibrary own = mpi_linked_with(program.linker, addon.path);
  const MpiLibrary& wanted = program.library;
  if (own.name.empty()) {
    return {"", fmt::format("its MPI is {}, and {} is no library for an MPI", mpi, addon.path)};
  }
  if (wanted.path.empty()) {
    if (!own.path.empty()) return {addon.path, ""};
    return {"", fmt::format("the add-on is for {}, which is not found", own.name)};
  }
  if (is_same_file(own.path, wanted.path)) return {addon.path, ""};
  if (own.name != wanted.name) {
    return {"", fmt::format("its MPI is {}, and the add-on is for {}", wanted.path, own.name)};
  }
  // Named beside the add-on, it is loaded where the add-on would have found another one.
  return {addon.path + ":" + wanted.path, ""};
}

Choice choose(const ExecOptions& options, const std::string& program) {
  const ProgramMpi found = mpi_of_program(program);
  if (found.keep_away) return {"", found.why_not};
  if (!found.why_not.empty()) return choose_guide(found.why_not);
  const std::string mpi = options.mpi.value_or(found.library.mpi);
  return mpi.empty() ? choose_guide("") : choose_addon(mpi, found);
}

/// LD_PRELOAD with `preload` before what was there, without what a weft exec further out has put.
std::string with_preload(const std::string& preload) {
  std::string all = preload;
  const std::string before = env::text("LD_PRELOAD").value_or("");
  for (std::size_t begin = 0; begin < before.size();) {
    const std::size_t end = std::min(before.find_first_of(": ", begin), before.size());
    const std::string one = before.substr(begin, end - begin);
    if (!one.empty() && one != guide_path() && !preload.starts_with(one)) all += ":" + one;
    begin = end + 1;
  }
  return all;
}

/// Takes settings (WEFT_REPORT=1) from the front of the words, into the environment.
void take_settings(std::vector<std::string>& words) {
  std::size_t taken = 0;
  for (; taken < words.size() && words[taken].starts_with("WEFT_"); ++taken) {
    const auto equals = words[taken].find('=');
    if (equals == std::string::npos) break;
    const std::string name = words[taken].substr(0, equals);
    const std::string meant = comm::nearest_setting(name);
    if (meant != name) {
      throw_usage("exec {}: no such setting{}", words[taken],
                  meant.empty() ? "" : fmt::format("; there is {}", meant));
    }
    ::setenv(name.c_str(), words[taken].c_str() + equals + 1, 1);
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
}

int fail_to_run(const std::string& program, int error) {
  fmt::print(stderr, "weft: exec {}: {}\n", program, std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

int run(const ExecOptions& options, std::vector<std::string> words) {
  take_settings(words);
  if (words.empty()) throw_usage("exec: no program given");
  if (words.front().starts_with("-")) {
    throw_usage("exec {}: no such option; there are --mpi, --show, --help", words.front());
  }
  if (options.mpi) {
    parse_choice("--mpi", *options.mpi, std::vector<std::string_view>(kMpis.begin(), kMpis.end()));
  }
  const std::string program = look_up_program(words.front());
  if (program.empty()) {
    const bool here = is_program(words.front());
    fmt::print(stderr, "weft: exec {}: no such program on PATH{}\n", words.front(),
               here ? "; there is ./" + words.front() : "");
    return kNotFound;
  }
  Choice choice;
  if (env::text("WEFT_DISABLE") != "1") choice = choose(options, program);
  if (!choice.why.empty() && is_first_rank()) {
    fmt::print(stderr, "weft: exec {}: {}: runs without weft\n", program, choice.why);
  }
  if (options.show) {
    if (!choice.preload.empty()) print(choice.preload + "\n");
    return choice.why.empty() ? kHolds : kFails;
  }
  if (!choice.preload.empty()) ::setenv("LD_PRELOAD", with_preload(choice.preload).c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // As launchers do, it runs a script without "#!" by the shell.
  ::execvp(program.c_str(), arguments.data());
  return fail_to_run(program, errno);
}

}  // namespace

void add_exec(CommandLine& line) {
  const auto options = std::make_shared<ExecOptions>();
  Command command = line.add_command("exec", "Run an MPI program over weft, under any launcher");
  command.add_option("--mpi", options->mpi, "MPI",
                     "openmpi or mpich [that which the program is linked with]");
  command.add_flag("--show", options->show,
                   "Print what would be preloaded into the program, and do not run it");
  command.set_with_rest(
      "[WEFT_..=VALUE] PROGRAM [ARGUMENTS]",
      "Preloads the add-on for the MPI that the program is linked with; for Python, that of its\n"
      "mpi4py. A shell or a script runs without it, and the MPI programs that it starts with it.\n"
      "Where that cannot be, one line says why, and the program runs without weft. Settings "
      "before\n"
      "the program reach it on all hosts, whatever the launcher passes on.\n\n"
      "Ends as the program does; 127 when it is not found, 126 when it cannot be run, 2 for bad\n"
      "usage.\n\n"
      "Examples:\n"
      "  mpirun -n 8 weft exec ./program\n"
      "  mpirun -n 8 --hostfile hosts weft exec WEFT_REPORT=1 ./program\n"
      "  srun weft exec python3 script.py",
      [options](std::vector<std::string> words) { return run(*options, std::move(words)); });
}

}  // namespace weft::cli
