// Guide: a small library that `weft exec` preloads where it can't see which programs will be
// started (a shell, a script). In each process whose program turns out to be linked with an MPI it
// starts that program again, with the add-on for this MPI in its own place; all other processes run
// on as they are.
//
// It runs before main(), when the program has done nothing yet, so starting again loses nothing. It
// needs nothing but libc, so that shells and small tools start as fast as without it.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/guide/libraries.hpp"

namespace {

constexpr const char* kPreload = "LD_PRELOAD";
// Holds a path, or a setting of LD_PRELOAD that names several.
using Text = std::array<char, 4 * PATH_MAX>;

const char* file_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

/// Sets `found`, a const char*, to the MPI of a loaded object; ends the search with 1.
int look_at(dl_phdr_info* object, std::size_t /*size*/, void* found) {
  for (const weft::mpi::Library& library : weft::mpi::kLibraries) {
    if (object->dlpi_name == nullptr ||
        std::strcmp(file_name(object->dlpi_name), library.name) != 0)
      continue;
    *static_cast<const char**>(found) = library.mpi;
    return 1;
  }
  return 0;
}

/// The MPI of the job's launcher, as its variables tell; null where they don't.
const char* mpi_of_launcher() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "openmpi";
  if (std::getenv("PMI_RANK") != nullptr && std::getenv("PMIX_RANK") == nullptr) return "mpich";
  return nullptr;
}

/// Python opens its MPI late, by a module: it is taken to be that of the launcher.
bool is_python() {
  Text program;
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0) return false;
  program[static_cast<std::size_t>(length)] = '\0';
  return std::strncmp(file_name(program.data()), "python", 6) == 0;
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

/// Does not return where it can start the program again.
void start_again(char** argv, const char* mpi, const char* preload) {
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void*>(&start_again), &self) == 0) return;
  Text addon;
  const auto folder = static_cast<int>(file_name(self.dli_fname) - self.dli_fname);
  std::snprintf(addon.data(), addon.size(), "%.*slibweft-%s.so", folder, self.dli_fname, mpi);
  Text text;
  if (::access(addon.data(), R_OK) != 0) return;
  if (!replace_guide(preload, self.dli_fname, addon.data(), text)) return;
  char** environment = with_preload(environ, text.data());
  Text program;
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (environment != nullptr && length > 0) {
    program[static_cast<std::size_t>(length)] = '\0';
    ::execve(program.data(), argv, environment);
  }
  std::free(environment);
}

__attribute__((constructor)) void guide(int /*argc*/, char** argv, char** /*environment*/) {
  const char* preload = std::getenv(kPreload);
  // Under valgrind the program that is started again would run without valgrind.
  if (preload == nullptr || std::strstr(preload, "vgpreload") != nullptr) return;
  const char* mpi = nullptr;
  if (::dl_iterate_phdr(look_at, &mpi) == 0 && is_python()) mpi = mpi_of_launcher();
  if (mpi != nullptr) start_again(argv, mpi, preload);
}

}  // namespace
