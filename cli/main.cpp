// The tool `weft`: one command a file; this one reads the command line and says what went wrong.
#include <csignal>
#include <cstdio>
#include <new>

#include "base/error.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/output.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostErrorBytes = 600;

/// One line, whatever the text quotes.
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

std::string names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string names_of(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    if (!option->get_positional()) names.push_back(option->get_name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What no option or argument took.
void require_nothing_left(const CLI::App& tool, const CLI::App* command) {
  if (command != nullptr && command->get_prefix_command()) return;
  const auto left = (command == nullptr ? tool : *command).remaining();
  if (left.empty() && command != nullptr) return;
  const auto any = [](const CLI::App*) { return true; };
  if (left.empty())
    throw_usage("no command given; there are {}", names_of(tool.get_subcommands(any)));
  const bool option = left.front().starts_with("-");
  if (command == nullptr) {
    throw_usage("'{}': no such {}", left.front(),
                option ? "option; there are --help, --version"
                       : "command; there are " + names_of(tool.get_subcommands(any)));
  }
  if (option) {
    throw_usage("{} {}: no such option; there are {}", command->get_name(), left.front(),
                names_of(command->get_options(nullptr)));
  }
  throw_usage("{} '{}': one argument too many", command->get_name(), left.front());
}

/// Of an option with no value, several, or one that takes none.
std::string describe(const CLI::ArgumentMismatch& error) {
  const std::string_view text = error.what();
  const auto flag = text.find(" was given a disallowed flag override");
  if (flag != text.npos) return fmt::format("--{}: takes no value", text.substr(0, flag));
  return fmt::format("{}: takes one value, once", text.substr(0, text.find(':')));
}

int run(int argc, char** argv) {
  CLI::App tool("Fast MPI collectives on many-core clusters joined by InfiniBand or RoCE.", "weft");
  tool.set_version_flag("--version", fmt::format("weft {}", kVersion), "Print the version");
  tool.allow_extras();
  tool.require_subcommand(0, 1);
  tool.get_formatter()->column_width(26);
  Action action;
  add_info(tool, action);
  add_plan(tool, action);
  add_check(tool, action);
  add_sim(tool, action);
  add_explain(tool, action);
  add_preload(tool, action);
  add_probe(tool, action);
  add_run(tool, action);
  for (CLI::App* command : tool.get_subcommands([](const CLI::App*) { return true; })) {
    command->allow_extras();
  }
  tool.footer(
      "Ends with 0 when all holds; 1 when a check fails, something is not there or the system\n"
      "refuses; 2 when the command line, an input or a setting is wrong.\n\n"
      "Examples:\n"
      "  weft info\n"
      "  weft plan alltoall --algorithm sa --nodes 3 --ppn 4 --bytes 512\n"
      "  weft check alltoall --ranks 1..40\n"
      "  weft sim alltoall --algorithm all --nodes 64 --ppn 8 --nic qle7140 --bytes 512\n"
      "  weft explain alltoall --nodes 64 --ppn 8 --nic qle7140 --bytes 512\n"
      "  weft probe --html adapter.html\n"
      "  mpirun -x LD_PRELOAD=$(weft preload) -x WEFT_REPORT=1 ./program\n"
      "  LD_PRELOAD=$(weft preload --soft-device) ibv_devinfo\n"
      "  weft run --one-address-space -n 8 ./program\n\n"
      "Settings are variables of the environment: weft info shows all of them.\n"
      "weft COMMAND --help says more.");
  try {
    tool.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(tool.help());
    return kHolds;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return kHolds;
  } catch (const CLI::ArgumentMismatch& error) {
    throw_usage("{}", describe(error));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  const auto chosen = tool.get_subcommands();
  require_nothing_left(tool, chosen.empty() ? nullptr : chosen.front());
  return action();
}

}  // namespace

}  // namespace weft::cli

int main(int argc, char** argv) {
  using namespace weft::cli;
  // A reader that has seen enough (head) ends the tool without a word, whatever the caller ignores.
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
