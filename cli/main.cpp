// Main function of the tool `weft`: its commands, and errors as one line.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "base/installation.hpp"
#include "cli/commands.hpp"
#include "cli/completion/completion.hpp"
#include "cli/manual/manual.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostErrorBytes = 600;

/// Prints the error as one line: control characters that it quotes become spaces.
int fail(std::string text, Exit code) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  if (text.size() > kMostErrorBytes) {
    const std::size_t half = kMostErrorBytes / 2;
    text = text.substr(0, half) + " ... " + text.substr(text.size() - half);
  }
  fmt::print(stderr, "weft: {}\n", text);
  return code;
}

int run(int argc, char** argv) {
  CommandLine line("weft",
                   "Fast MPI collectives on many-core clusters joined by InfiniBand or RoCE.",
                   fmt::format("weft {}", kVersion));
  add_commands(line);
  line.set_footer(
      "Ends with 0 on success; 1 when a check fails, something is missing or the system refuses;\n"
      "2 when the command line, an input or a setting is wrong.\n\n"
      "Examples:\n"
      "  weft info\n"
      "  weft doctor\n"
      "  weft plan alltoall --algorithm sa --nodes 3 --ppn 4 --bytes 512\n"
      "  weft check alltoall --ranks 1..40\n"
      "  weft sim alltoall --algorithm all --nodes 64 --ppn 8 --nic qle7140 --bytes 512\n"
      "  weft explain alltoall --nodes 64 --ppn 8 --nic qle7140 --bytes 512\n"
      "  weft tune broadcast --nodes 8 --ppn 4 --nic connectx-6 --table table.json\n"
      "  weft probe --html adapter.html\n"
      "  mpirun -n 8 weft exec ./program\n"
      "  weft report before.json after.json\n"
      "  weft replay run.trace --nic connectx-6 --nodes 64 --ppn 32\n"
      "  weft stuck\n"
      "  LD_PRELOAD=$(weft preload --soft-device) ibv_devinfo\n"
      "  weft run --one-address-space -n 8 ./program\n\n"
      "Settings are variables of the environment: weft info shows all of them.\n"
      "weft COMMAND --help describes a command.");
  // Not for people: shells ask by the first, the build by the second.
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--complete") {
    print(complete(line.help_text(), words));
  } else if (first == "--write-manual" && words.size() == 1) {
    write_manual(line.help_text(), words.front());
  } else {
    return line.parse(argc, argv)();
  }
  return kHolds;
}

}  // namespace

}  // namespace weft::cli

int main(int argc, char** argv) {
  using namespace weft::cli;
  // When the reader of a pipe closes it (head), the tool ends silently, even if the caller ignores
  // SIGPIPE.
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return run(argc, argv);
  } catch (const weft::UsageError& error) {
    return fail(error.what(), kBadUsage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kFails);
  } catch (const std::exception& error) {
    return fail(error.what(), kFails);
  }
}
