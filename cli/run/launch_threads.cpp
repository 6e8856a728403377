// weft run --one-address-space: runs each rank as a thread with a dynamic linker namespace of its
// own, the method of Process-in-Process.
//
// Source: Hori et al., "Process-in-Process", HPDC 2018, by way of Huang et al., "PiP-MColl",
// CLUSTER 2023, section II-B: dlmopen() of a position independent program; globals are separate,
// the address space is shared.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "base/env.hpp"
#include "base/error.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/program_image.hpp"

namespace weft::cli {

namespace {

// Settings of glibc: 16 namespaces, and static thread-local storage for libraries that are loaded
// later, in all namespaces.
constexpr const char* kTunables = "glibc.rtld.nns=16:glibc.rtld.optional_static_tls=65536";

/// One rank: its namespace, and the thread that runs its main().
struct Rank {
  int number = 0;
  void* program = nullptr;  // of dlmopen()
  std::vector<std::string> texts;
  std::vector<char*> arguments, environment;
  std::jmp_buf exit_point = {};
  std::atomic<int> status = 0;
  bool skip_handlers = false;  // left by _exit(), not exit()

  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(program, name));
  }
};

thread_local Rank* this_rank = nullptr;
pid_t tool_process = 0;

/// Replacement of the program's exit(): ends the rank, not the process.
[[noreturn]] void end_rank(int status, bool skip_handlers) {
  Rank* rank = this_rank;
  if (::getpid() != tool_process && rank != nullptr) {
    // A child of fork() is a process of its own: it ends by the real exit().
    auto* real = rank->find<void(int)>(skip_handlers ? "_exit" : "exit");
    real(status);
  }
  // A thread that the program has started cannot end its rank's main(): the process ends.
  if (rank == nullptr) ::_exit(status);
  rank->status = status & 0xff;
  rank->skip_handlers = skip_handlers;
  std::longjmp(rank->exit_point, 1);
}
[[noreturn]] void replaced_exit(int status) {
  end_rank(status, false);
}
[[noreturn]] void replaced_quick_exit(int status) {
  end_rank(status, true);
}

void load_program(Rank& rank, const ProgramImage& image, const Launch& launch) {
  // The C library of the new namespace takes its environment from this process's `environ`.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  char** const own = std::exchange(environ, rank.environment.data());
  rank.program = ::dlmopen(LM_ID_NEWLM, image.loadable().c_str(), RTLD_NOW | RTLD_LOCAL);
  environ = own;
  if (rank.program == nullptr) {
    throw Error(
        fmt::format("run: rank {}: dlmopen({}): {}", rank.number, launch.program, ::dlerror()));
  }
  const std::array bindings = {
      Binding{"exit", reinterpret_cast<void*>(&replaced_exit)},
      Binding{"_exit", reinterpret_cast<void*>(&replaced_quick_exit)},
      Binding{"_Exit", reinterpret_cast<void*>(&replaced_quick_exit)},
      Binding{"quick_exit", reinterpret_cast<void*>(&replaced_quick_exit)},
  };
  rebind(rank.program, bindings);
  copy_variables(rank.program);
  if (auto* name = rank.find<char*>("program_invocation_name")) *name = rank.arguments[0];
}

/// Runs what exit() would: destructors, handlers, flushing of streams.
void run_exit_handlers(const Rank& rank) {
  if (auto* destroy = rank.find<void()>("__call_tls_dtors")) destroy();
  if (auto* finalize = rank.find<void(void*)>("__cxa_finalize")) finalize(nullptr);
  if (auto* flush = rank.find<int(std::FILE*)>("fflush")) flush(nullptr);
}

/// Ends the process, as the other ranks might wait for the failed rank for ever.
[[noreturn]] void end_all(std::string_view why, int status) {
  static std::mutex mutex;
  mutex.lock();
  fmt::print(stderr, "weft: {}\n", why);
  std::fflush(nullptr);
  ::_exit(status);
}

void run_main(Rank& rank, const ProgramImage& image) {
  const auto words = static_cast<int>(rank.arguments.size() - 1);
  this_rank = &rank;
  if (setjmp(rank.exit_point) == 0) {
    image.construct(rank.program, words, rank.arguments.data(), rank.environment.data());
    const int status =
        image.run_main(rank.program, words, rank.arguments.data(), rank.environment.data());
    rank.status = status & 0xff;
  }
  if (!rank.skip_handlers) {
    // A destructor may call exit(), too.
    if (setjmp(rank.exit_point) == 0) run_exit_handlers(rank);
  }
  this_rank = nullptr;
}

void run_rank(Rank& rank, const ProgramImage& image, const Launch& launch) {
  try {
    load_program(rank, image, launch);
  } catch (const std::exception& error) {
    end_all(error.what(), 1);
  }
  run_main(rank, image);
  if (rank.status == 0) return;
  end_all(fmt::format("run: rank {} ended with {}", rank.number, rank.status.load()), rank.status);
}

/// Executes the tool again, with its command line and the settings of glibc.
void restart_tool() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) {
    texts.emplace_back(words.c_str() + at);
  }
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const std::string before = env::text("GLIBC_TUNABLES").value_or("");
  ::setenv("GLIBC_TUNABLES", (before.empty() ? kTunables : before + ":" + kTunables).c_str(), 1);
  ::execv("/proc/self/exe", arguments.data());
  throw_errno("exec(/proc/self/exe)");
}

}  // namespace

int run_in_one_address_space(const Launch& launch) {
  if (launch.ranks > kMostNamespaces) {
    throw_usage(
        "run --one-address-space -n {}: at most {} ranks, as the C library has 16 "
        "namespaces, and one is the tool's",
        launch.ranks, kMostNamespaces);
  }
  const ProgramImage image(launch.program);
  if (env::text("GLIBC_TUNABLES").value_or("").find(kTunables) == std::string::npos) restart_tool();
  tool_process = ::getpid();
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int number = 0; number < launch.ranks; ++number) {
    auto rank = std::make_unique<Rank>();
    rank->number = number;
    rank->texts = launch.arguments;
    const std::size_t words = rank->texts.size();
    for (std::string& text : environment_of(launch, number)) rank->texts.push_back(std::move(text));
    for (std::size_t i = 0; i < rank->texts.size(); ++i) {
      (i < words ? rank->arguments : rank->environment).push_back(rank->texts[i].data());
    }
    rank->arguments.push_back(nullptr);
    rank->environment.push_back(nullptr);
    ranks.push_back(std::move(rank));
  }
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) {
    threads.emplace_back([&rank, &image, &launch] { run_rank(*rank, image, launch); });
  }
  for (std::thread& thread : threads) thread.join();
  // Without unloading the namespaces: threads of their libraries may still run.
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace weft::cli
