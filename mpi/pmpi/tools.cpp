// Tools of the profiling interface: libraries that define MPI functions, note calls, and go on to
// those under their other names (PMPI), as mpiP, Score-P and Darshan do. The program must find them
// before the add-on, whose own functions go on to the host: behind it none of theirs is called.
//
// A tool that the program is linked with is behind whatever is preloaded, and `weft exec` preloads
// the add-on in front of what was there. So where a tool is found behind, the program is started
// again, before anything of it has run, with the tool preloaded in front of the add-on.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string>

namespace {

constexpr const char* kPreload = "LD_PRELOAD";

/// The object that a symbol is in, as far as it is known.
Dl_info object_of(const void* symbol) {
  Dl_info info = {};
  if (symbol == nullptr || ::dladdr(symbol, &info) == 0) return {};
  return info;
}

/// Whether an object has a symbol itself, and not a library that it is linked with.
bool has(const Dl_info& object, const std::string& name) {
  void* handle = ::dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  const Dl_info found = object_of(::dlsym(handle, name.c_str()));
  ::dlclose(handle);
  return found.dli_fbase == object.dli_fbase;
}

/// The file of a library behind the add-on that has an MPI function under the program's name for it
/// alone: the host has both. Empty where there is none.
std::string tool_behind() {
  for (const std::string name : {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Barrier",
                                 "MPI_Bcast", "MPI_Allreduce", "MPI_Alltoall", "MPI_Wait"}) {
    const Dl_info next = object_of(::dlsym(RTLD_NEXT, name.c_str()));
    if (next.dli_fbase == nullptr || has(next, "P" + name)) continue;
    std::array<char, PATH_MAX> file = {};
    return ::realpath(next.dli_fname, file.data()) == nullptr ? "" : file.data();
  }
  return "";
}

/// LD_PRELOAD with `tool` in front of the add-on; empty where the add-on is not named there, or the
/// tool is in front of it already.
std::string with_tool(const std::string& preload, const std::string& tool) {
  const char* const addon = object_of(reinterpret_cast<const void*>(&with_tool)).dli_fname;
  const std::size_t at = addon == nullptr ? std::string::npos : preload.find(addon);
  if (at == std::string::npos || preload.find(tool) < at) return "";
  return preload.substr(0, at) + tool + ":" + preload.substr(at);
}

[[gnu::constructor]] void start_behind_tools(int /*argc*/, char** argv, char** /*environment*/) {
  const char* preload = std::getenv(kPreload);
  // Under valgrind the program that is started again would run without valgrind.
  if (preload == nullptr || std::string(preload).find("vgpreload") != std::string::npos) return;
  const std::string tool = tool_behind();
  if (tool.empty()) return;
  const std::string before = preload;
  const std::string wanted = with_tool(before, tool);
  std::array<char, PATH_MAX> program = {};
  if (wanted.empty() || ::readlink("/proc/self/exe", program.data(), program.size() - 1) <= 0) {
    return;
  }
  ::setenv(kPreload, wanted.c_str(), 1);
  ::execv(program.data(), argv);
  ::setenv(kPreload, before.c_str(), 1);  // it runs on as it is
}

}  // namespace
