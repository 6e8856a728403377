// Guide: a small library that `weft exec` preloads where it can't see which programs will be
// started (a shell, a script). In each process whose program turns out to be linked with an MPI it
// starts that program again, with the add-on for this MPI in its own place; for Python in a job it
// asks the tool. All other processes run on as they are.
//
// It runs before main(), when the program has done nothing yet, so starting again loses nothing. It
// needs nothing but libc, so that shells and small tools start as fast as without it.
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/guide/libraries.hpp"

namespace {

constexpr const char* kPreload = "LD_PRELOAD";
// Holds a path, or a setting of LD_PRELOAD that names several.
using Text = std::array<char, std::size_t{4} * PATH_MAX>;

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

/// Ends the search, with 1, at an object that is the library of an MPI.
int look_at(dl_phdr_info* object, std::size_t /*size*/, void* /*data*/) {
  if (object->dlpi_name == nullptr) return 0;
  const char* name = file_name(object->dlpi_name);
  for (const weft::mpi::Library& library : weft::mpi::kLibraries) {
    if (std::strcmp(name, library.name) == 0) return 1;
  }
  return 0;
}

/// Sets `text` to the file of this program; false where the system does not tell.
bool find_self(Text& text) {
  const ssize_t length = ::readlink("/proc/self/exe", text.data(), text.size() - 1);
  if (length <= 0) return false;
  text[static_cast<std::size_t>(length)] = '\0';
  return true;
}

/// Whether a launcher has started this process, or one that has started it.
bool is_in_a_job() {
  constexpr const char* kNames[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
  return std::ranges::any_of(kNames, [](const char* name) { return std::getenv(name) != nullptr; });
}

/// Sets `text` to "LD_PRELOAD=.." with `addon` in the place of the guide. False where the guide is
/// not named there, or there is no room.
bool replace_guide(const char* preload, const char* guide, const char* addon, Text& text) {
  const char* at = std::strstr(preload, guide);
  if (at == nullptr) return false;
  const int written =
      std::snprintf(text.data(), text.size(), "%s=%.*s%s%s", kPreload,
                    static_cast<int>(at - preload), preload, addon, at + std::strlen(guide));
  return written > 0 && static_cast<std::size_t>(written) < text.size();
}

/// A copy of `environment` in which the variable LD_PRELOAD is `preload`; null without memory.
char** with_preload(char** environment, char* preload) {
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
  char** copy = static_cast<char**>(std::calloc(count + 1, sizeof *copy));
  if (copy == nullptr) return nullptr;
  const std::size_t length = std::strlen(kPreload);
  for (std::size_t i = 0; i < count; ++i) {
    const bool replaced =
        std::strncmp(environment[i], kPreload, length) == 0 && environment[i][length] == '=';
    copy[i] = replaced ? preload : environment[i];
  }
  return copy;
}

/// The file that this code is in; null where that is not known.
const char* own_path() {
  Dl_info self;
  return ::dladdr(reinterpret_cast<const void*>(&own_path), &self) == 0 ? nullptr : self.dli_fname;
}

/// Sets `text` to the folder of the guide and `name` in it. Whether that can be used in `way`.
bool find_beside(const char* name, int way, Text& text) {
  const char* guide = own_path();
  if (guide == nullptr) return false;
  std::snprintf(text.data(), text.size(), "%.*s%s", static_cast<int>(file_name(guide) - guide),
                guide, name);
  return ::access(text.data(), way) == 0;
}

/// Asks the tool what is to be preloaded for `program`. False where it knows of nothing.
bool ask_tool(const char* program, Text& addon) {
  Text tool;
  if (!find_beside("weft", X_OK, tool) && !find_beside("../../bin/weft", X_OK, tool)) return false;
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::unsetenv(kPreload);
    ::execl(tool.data(), tool.data(), "exec", "--show", program, nullptr);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::size_t length = 0;
  for (ssize_t got = 1; child > 0 && got != 0 && length < addon.size() - 1;) {
    got = ::read(ends[0], addon.data() + length, addon.size() - 1 - length);
    if (got > 0) length += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  addon[length] = '\0';
  addon[std::strcspn(addon.data(), "\n")] = '\0';
  const char* guide = own_path();
  return length != 0 && guide != nullptr && std::strcmp(addon.data(), guide) != 0;
}

/// Does not return where it can start `program`, this one, again, with `addon` in place of the
/// guide.
void start_again(const char* program, char** argv, const char* addon, const char* preload) {
  const char* guide = own_path();
  Text text;
  if (guide == nullptr || !replace_guide(preload, guide, addon, text)) return;
  char** environment = with_preload(environ, text.data());
  if (environment != nullptr) ::execve(program, argv, environment);
  std::free(environment);
}

__attribute__((constructor)) void guide(int /*argc*/, char** argv, char** /*environment*/) {
  const char* preload = std::getenv(kPreload);
  // Under valgrind the program that is started again would run without valgrind.
  if (preload == nullptr || std::strstr(preload, "vgpreload") != nullptr) return;
  Text self;
  if (!find_self(self)) return;
  // Python opens its MPI late, by a module, and finds its modules by the name it was called by.
  const bool is_linked = ::dl_iterate_phdr(look_at, nullptr) != 0;
  const bool is_python = std::strncmp(file_name(self.data()), "python", 6) == 0;
  if (!is_linked && !(is_python && is_in_a_job())) return;
  Text addon;
  if (!ask_tool(is_python ? argv[0] : self.data(), addon)) return;
  start_again(self.data(), argv, addon.data(), preload);
}

}  // namespace
