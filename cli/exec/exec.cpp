// weft exec: runs a program with the add-on for its MPI.
#include <unistd.h>

#include <algorithm>
#include <array>
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

namespace weft::cli {

namespace {

// As shells, env and nohup end.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

struct Options {
  Text mpi;
};

/// Whether this process speaks for the job: it is its first rank, or no launcher has started it.
bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const auto rank = env::text(name)) return *rank == "0";
  }
  return true;
}

/// What is to be preloaded, or why the program runs plain.
struct Choice {
  std::string path;
  std::string why;
};

Choice choose(const Options& options, const std::string& program) {
  ProgramMpi found{ProgramMpi::Kind::linked, options.mpi.value_or(""), ""};
  if (!options.mpi) found = mpi_of_program(program);
  if (found.kind == ProgramMpi::Kind::impossible) return {"", found.why};
  if (found.kind == ProgramMpi::Kind::unlinked) {
    std::string guide = own_file("libweft-guide.so");
    if (::access(guide.c_str(), R_OK) == 0) return {guide, ""};
    return {"", fmt::format("linked with no MPI, and {} is missing", guide)};
  }
  const Addon addon = mpi_addon(found.mpi);
  if (addon.exists) return {addon.path, ""};
  return {"", fmt::format("its MPI is {}, and {} is missing", found.mpi, addon.path)};
}

int run(const Options& options, std::vector<std::string> words) {
  if (words.empty()) throw_usage("exec: no program given");
  if (words.front().starts_with("-")) {
    throw_usage("exec {}: no such option; there are --mpi, --help", words.front());
  }
  if (options.mpi) {
    parse_choice("--mpi", *options.mpi, std::vector<std::string_view>(kMpis.begin(), kMpis.end()));
  }
  std::string program;
  try {
    program = find_program("exec", words.front());
  } catch (const UsageError& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return kNotFound;
  }
  if (env::text("WEFT_DISABLE") != "1") {
    const Choice choice = choose(options, program);
    if (!choice.why.empty() && is_first_rank()) {
      fmt::print(stderr, "weft: exec {}: {}: runs without weft\n", program, choice.why);
    }
    if (!choice.path.empty()) {
      const auto before = env::text("LD_PRELOAD");
      const std::string all = before ? choice.path + ":" + *before : choice.path;
      ::setenv("LD_PRELOAD", all.c_str(), 1);
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  const int error = errno;
  fmt::print(stderr, "weft: exec {}: {}\n", program, std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace

void add_exec(CommandLine& line) {
  const auto options = std::make_shared<Options>();
  Command command = line.add_command(
      "exec", "Run an MPI program over weft, under any launcher: exec PROGRAM [ARGUMENTS]");
  command.add_option("--mpi", options->mpi, "MPI",
                     "openmpi or mpich [that which the program is linked with]");
  command.set_with_rest(
      "Preloads the add-on for the MPI that the program is linked with; for Python, that of its\n"
      "mpi4py. A shell or a script runs without it, and the MPI programs that it starts with it.\n"
      "Where that cannot be, one line says why, and the program runs without weft.\n\n"
      "Ends as the program does; 127 when it is not found, 126 when it cannot be run, 2 for bad\n"
      "usage.\n\n"
      "Examples:\n"
      "  mpirun -n 8 weft exec ./program\n"
      "  srun weft exec python3 script.py",
      [options](std::vector<std::string> words) { return run(*options, std::move(words)); });
}

}  // namespace weft::cli
