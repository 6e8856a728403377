#include "cli/options/command.hpp"

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kColumn = 26;  // of the help texts of options

/// The usage line of a command whose options are followed by words that are not parsed.
class UsageWithRest : public CLI::Formatter {
 public:
  explicit UsageWithRest(std::string rest) : rest_(std::move(rest)) {}

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = CLI::Formatter::make_usage(app, std::move(name));
    line.insert(line.find_last_not_of('\n') + 1, " " + rest_);
    return line;
  }
  const std::string& rest() const { return rest_; }

 private:
  std::string rest_;
};

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

/// UsageError where words are left that belong to no option or argument.
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

/// The message for an option with a missing value, several values, or a value that it does not
/// take.
std::string describe(const CLI::ArgumentMismatch& error) {
  const std::string_view text = error.what();
  const auto flag = text.find(" was given a disallowed flag override");
  if (flag != text.npos) return fmt::format("--{}: takes no value", text.substr(0, flag));
  return fmt::format("{}: takes one value, once", text.substr(0, text.find(':')));
}

std::vector<OptionText> options_of(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_none = option->get_expected_max() == 0;
    options.push_back({option->get_name(), takes_none ? "" : option->get_type_name(),
                       option->get_description(), option->get_positional()});
  }
  return options;
}

}  // namespace

void Command::add_option(const char* name, Text& text, const char* value, const char* help) {
  app_->add_option(name, text, help)->type_name(value);
}

void Command::add_repeated(const char* name, std::vector<std::string>& texts, const char* value,
                           const char* help) {
  app_->add_option(name, texts, help)->type_name(value)->allow_extra_args(false);
}

void Command::add_flag(const char* name, bool& flag, const char* help) {
  app_->add_flag(name, flag, help)->disable_flag_override();
}

void Command::add_clearing_flag(const char* name, bool& flag, const char* help) {
  app_->add_flag_callback(
          name, [&flag] { flag = false; }, help)
      ->disable_flag_override();
}

void Command::set(const std::string& footer, Action action) {
  app_->footer(footer);
  app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

void Command::set_with_rest(const std::string& rest, const std::string& footer,
                            ActionOnWords action) {
  app_->prefix_command();
  app_->formatter(std::make_shared<UsageWithRest>(rest))->get_formatter()->column_width(kColumn);
  set(footer, [app = app_, action = std::move(action)] { return action(app->remaining()); });
}

CommandLine::CommandLine(const char* name, const char* summary, const std::string& version)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->set_version_flag("--version", version, "Print the version");
  app_->allow_extras();
  app_->require_subcommand(0, 1);
  app_->get_formatter()->column_width(kColumn);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_command(const char* name, const char* summary) {
  CLI::App* app = app_->add_subcommand(name, summary);
  app->allow_extras();
  return {*app, action_};
}

void CommandLine::set_footer(const std::string& footer) {
  app_->footer(footer);
}

ToolText CommandLine::help_text() const {
  ToolText tool{
      app_->get_name(), app_->get_description(), app_->get_footer(), options_of(*app_), {}};
  for (const CLI::App* app : app_->get_subcommands([](const CLI::App*) { return true; })) {
    const auto with_rest = std::dynamic_pointer_cast<UsageWithRest>(app->get_formatter());
    tool.commands.push_back({app->get_name(), app->get_description(), app->get_footer(),
                             options_of(*app), with_rest == nullptr ? "" : with_rest->rest()});
  }
  return tool;
}

Action CommandLine::parse(int argc, const char* const* argv) {
  const auto printing = [](std::string text) {
    return [text = std::move(text)] {
      print(text);
      return kHolds;
    };
  };
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return printing(app_->help());
  } catch (const CLI::CallForVersion& version) {
    return printing(std::string(version.what()) + "\n");
  } catch (const CLI::ArgumentMismatch& error) {
    throw_usage("{}", describe(error));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  const auto chosen = app_->get_subcommands();
  require_nothing_left(*app_, chosen.empty() ? nullptr : chosen.front());
  return action_;
}

}  // namespace weft::cli
