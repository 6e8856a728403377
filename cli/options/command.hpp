// Command line of the tool: its commands, and their options. Stands between the commands and
// CLI11, whose headers take long to compile: those are in command.cpp alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

/// Exit code of the tool; its help says the same.
enum Exit : int {
  kHolds = 0,     ///< Done; all that was asked holds.
  kFails = 1,     ///< A check failed, something is missing or the system refused.
  kBadUsage = 2,  ///< The command line, an input or a setting is wrong.
};

/// Code that runs once the whole command line has been read. Returns an Exit.
using Action = std::function<int()>;

/// The same, called with all words behind the options.
using ActionOnWords = std::function<int(std::vector<std::string>)>;

/// Text of an option; nullopt where the option is not given.
using Text = std::optional<std::string>;

/// One command while its options are declared. What options are read into must live until the
/// action has run. `help` may have several lines; `value` names an option's value in it.
class Command {
 public:
  Command(CLI::App& app, Action& chosen) : app_(&app), chosen_(&chosen) {}

  /// An option with one value, given at most once; a name without dashes is an argument by place.
  void add_option(const char* name, Text& text, const char* value, const char* help);
  /// An option that may be given several times, each with one value.
  void add_repeated(const char* name, std::vector<std::string>& texts, const char* value,
                    const char* help);
  /// An option without a value, which sets `flag`, or clears it where the name is "!--name".
  void add_flag(const char* name, bool& flag, const char* help);
  /// Help below the options, and the action when this command is the one on the command line.
  void set(const std::string& footer, Action action);
  /// The same for a command whose arguments are not its own: nothing behind the first word that is
  /// no option is read.
  void set_with_rest(const std::string& footer, ActionOnWords action);

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
  /// Reads the words and runs the command's action, or prints the help or the version that they ask
  /// for. UsageError names the word that is wrong and what is allowed.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

}  // namespace weft::cli
