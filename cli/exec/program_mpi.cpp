#include "cli/exec/program_mpi.hpp"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "cli/options/programs.hpp"
#include "mpi/guide/libraries.hpp"

namespace weft::cli {

namespace {

using Kind = ProgramMpi::Kind;

// Of an executable: its headers lie there. Of a script: its first line.
constexpr std::size_t kHeadBytes = 4096;
// Prints the file of the module that `import mpi4py.MPI` would load, without loading it.
constexpr const char* kFindModule =
    "import importlib.util as u\n"
    "print(u.find_spec('mpi4py.MPI').origin)\n";

std::string head_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/// What a program prints; empty where it cannot be run or fails. Nothing is preloaded into it.
std::string output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const File from(ends[0]);
  File to(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LD_PRELOAD=")) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  const int refused = ::posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(),
                                    environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (refused != 0) return {};
  to.reset();
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t bytes = ::read(from.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::string();
}

/// The dynamic linker that an executable names; empty where there is none. `head` is of an ELF file
/// of 64 bits.
std::string linker_of(const std::string& head) {
  Elf64_Ehdr header{};
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const std::size_t at = header.e_phoff + i * header.e_phentsize;
    if (at + sizeof part > head.size()) break;
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_INTERP || part.p_offset + part.p_filesz > head.size()) continue;
    return std::string(head.data() + part.p_offset);
  }
  return {};
}

/// The MPI among the libraries of an executable or a shared object; empty where there is none.
std::string mpi_linked_with(const std::string& linker, const std::string& path) {
  std::istringstream lines(output_of({linker, "--list", path}));
  for (std::string name, rest; lines >> name && std::getline(lines, rest);) {
    for (const auto& [library, mpi] : mpi::kLibraries) {
      if (name == library) return mpi;
    }
  }
  return {};
}

/// The words behind "#!".
std::vector<std::string> interpreter_of(const std::string& head) {
  std::istringstream line(head.substr(2, head.find('\n') - 2));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  return words;
}

bool is_named_python(const std::string& path) {
  return std::filesystem::path(path).filename().string().starts_with("python");
}

ProgramMpi of_python(const std::string& python, const std::string& linker) {
  std::string module = output_of({python, "-c", kFindModule});
  while (module.ends_with('\n')) module.pop_back();
  std::string mpi = module.empty() ? "" : mpi_linked_with(linker, module);
  return {mpi.empty() ? Kind::unlinked : Kind::linked, mpi, ""};
}

ProgramMpi of_script(const std::string& head) {
  std::vector<std::string> words = interpreter_of(head);
  if (words.empty()) return {};
  std::string program = words.front();
  // "#!/usr/bin/env python3", or with -S and more words.
  if (program.ends_with("/env")) {
    for (const std::string& word : words) {
      if (is_named_python(word)) program = find_program("exec", word);
    }
  }
  return is_named_python(program) ? mpi_of_program(program) : ProgramMpi{};
}

}  // namespace

ProgramMpi mpi_of_program(const std::string& path) {
  const std::string head = head_of(path);
  if (head.starts_with("#!")) return of_script(head);
  if (!head.starts_with(ELFMAG) || head.size() <= EI_CLASS) return {};
  if (head[EI_CLASS] != ELFCLASS64) return {Kind::impossible, "", "a program of 32 bits"};
  const std::string linker = linker_of(head);
  if (linker.empty()) return {Kind::impossible, "", "linked statically"};
  if (is_named_python(path)) return of_python(path, linker);
  std::string mpi = mpi_linked_with(linker, path);
  return {mpi.empty() ? Kind::unlinked : Kind::linked, mpi, ""};
}

}  // namespace weft::cli
