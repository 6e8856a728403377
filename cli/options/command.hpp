// Command line of the tool: its commands, and their options. A thin layer over CLI11, whose headers
// take long to compile: only command.cpp includes them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/help_text.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// Exit code of the tool, as its help describes it.
enum Exit : int {
  kHolds = 0,     ///< Done; every check passed.
  kFails = 1,     ///< A check failed, something is missing or the system refuses.
  kBadUsage = 2,  ///< The command line, an input or a setting is wrong.
};

/// Code that runs once the whole command line has been read. Returns an Exit.
using Action = std::function<int()>;

/// The same; its argument is all words after the options.
using ActionOnWords = std::function<int(std::vector<std::string>)>;

/// Text of an option; nullopt where the option is not given.
using Text = std::optional<std::string>;

/// One command while its options are declared. The variables for the options must live until the
/// action has run. `help` may have several lines; `value` is the name of an option's value there.
class Command {
 public:
  Command(CLI::App& app, Action& chosen) : app_(&app), chosen_(&chosen) {}

  /// An option with one value, given at most once; a name without dashes is a positional argument.
  void add_option(const char* name, Text& text, const char* value, const char* help);
  /// An option that may be given several times, each with one value.
  void add_repeated(const char* name, std::vector<std::string>& texts, const char* value,
                    const char* help);
  /// An option without a value, which sets `flag`.
  void add_flag(const char* name, bool& flag, const char* help);
  /// An option without a value, which clears `flag`: "--no-keep".
  void add_clearing_flag(const char* name, bool& flag, const char* help);
  /// Sets the help text below the options, and the action of the command.
  void set(const std::string& footer, Action action);
  /// The same for a command that runs a program: words from the first that is no option are not
  /// parsed. `rest`: what they are, for the usage line, as "PROGRAM [ARGUMENTS]".
  void set_with_rest(const std::string& rest, const std::string& footer, ActionOnWords action);

 private:
  CLI::App* app_;
  Action* chosen_;
};

/// The whole command line.
class CommandLine {
 public:
  CommandLine(const char* name, const char* summary, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  Command add_command(const char* name, const char* summary);
  void set_footer(const std::string& footer);
  /// All that the help says.
  ToolText help_text() const;
  /// Parses the words. The action of the command that they name, or one that prints the help or the
  /// version. UsageError names the wrong word and what is allowed.
  Action parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

}  // namespace weft::cli
