#include "cli/exec/program_mpi.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "cli/exec/executable.hpp"
#include "cli/options/programs.hpp"
#include "mpi/guide/libraries.hpp"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

// Interpreters may be scripts themselves.
constexpr int kMostInterpreters = 4;
// Prints the file of the module that `import mpi4py.MPI` would load, without loading it.
constexpr const char* kFindModule =
    "import importlib.util as u\n"
    "print(u.find_spec('mpi4py.MPI').origin)\n";

/// What a program prints; empty where it cannot be run or fails.
std::string output_of(std::vector<std::string> words) {
  Ran ran = run_program(std::move(words));
  return ran.code == 0 ? std::move(ran.out) : std::string();
}

/// By its own name, or by that of the file behind a link.
bool is_python(const std::string& path) {
  const auto named = [](const fs::path& file) {
    return file.filename().string().starts_with("python");
  };
  std::error_code ignored;
  return named(path) || named(fs::canonical(path, ignored));
}

/// The system gives such a program rights that its caller lacks, and preloads nothing into it.
bool raises_rights(const std::string& path) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0) return false;
  return ((file.st_mode & S_ISUID) != 0 && file.st_uid != ::geteuid()) ||
         ((file.st_mode & S_ISGID) != 0 && file.st_gid != ::getegid());
}

/// A library that an executable or a shared object needs.
struct Needed {
  std::string name;
  std::string path;  // empty: not found
};

std::vector<Needed> needed_by(const std::string& linker, const std::string& path) {
  // "libmpi.so.40 => /lib/libmpi.so.40 (0x00007f..)", or "=> not found".
  std::istringstream lines(output_of({linker, "--list", path}));
  std::vector<Needed> needed;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string arrow;
    std::string file;
    words >> name >> arrow >> file;
    needed.push_back({name, file.starts_with('/') ? file : ""});
  }
  return needed;
}

bool is_sanitized(const std::vector<Needed>& needed) {
  return std::ranges::any_of(needed,
                             [](const Needed& one) { return one.name.starts_with("libasan.so"); });
}

MpiLibrary mpi_among(const std::vector<Needed>& needed) {
  for (const Needed& one : needed) {
    for (const auto& [library, mpi] : mpi::kLibraries) {
      if (one.name == library) return {mpi, one.name, one.path};
    }
  }
  return {};
}

MpiLibrary of_python(const std::string& python, const std::string& linker) {
  std::string module = output_of({python, "-c", kFindModule});
  while (module.ends_with('\n')) module.pop_back();
  return module.empty() ? MpiLibrary{} : mpi_linked_with(linker, module);
}

ProgramMpi of_elf(const std::string& path, const Executable& file) {
  ProgramMpi found;
  found.linker = file.linker;
  if (file.is_foreign) {
    found.why_not = "of 32 bits, or for another processor";
    found.keep_away = true;  // its linker complains about libraries of 64 bits
  } else if (file.linker.empty()) {
    found.why_not = "linked statically";
  } else if (!fs::path(file.linker).filename().string().starts_with("ld-linux")) {
    found.why_not = "not linked with this C library";
    found.keep_away = true;
  } else if (raises_rights(path)) {
    found.why_not = "set-user-ID or set-group-ID";
  }
  if (!found.why_not.empty()) return found;
  const std::vector<Needed> needed = needed_by(file.linker, path);
  if (is_sanitized(needed)) {
    found.why_not = "linked with AddressSanitizer, which has to be loaded first";
    found.keep_away = true;
  } else {
    found.library = is_python(path) ? of_python(path, file.linker) : mpi_among(needed);
  }
  return found;
}

ProgramMpi of_file(const std::string& path, int depth) {
  const Executable file = read_executable(path);
  if (file.is_elf) return of_elf(path, file);
  if (file.interpreter.empty() || depth == kMostInterpreters) return {};
  const std::string interpreter = look_up_program(file.interpreter.front());
  return interpreter.empty() ? ProgramMpi{} : of_file(interpreter, depth + 1);
}

}  // namespace

MpiLibrary mpi_linked_with(const std::string& linker, const std::string& path) {
  return mpi_among(needed_by(linker, path));
}

ProgramMpi mpi_of_program(const std::string& path) {
  return of_file(path, 0);
}

}  // namespace weft::cli
