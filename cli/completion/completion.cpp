#include "cli/completion/completion.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cli/options/algorithm_names.hpp"
#include "cli/options/problem_options.hpp"
#include "cli/preload/addons.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::cli {

namespace {

constexpr const char* kFiles = ":files";
constexpr const char* kPrograms = ":programs";

struct Candidate {
  std::string word;
  std::string meaning;
};
using Candidates = std::vector<Candidate>;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The last of "-h,--help".
std::string long_name(const OptionText& option) {
  return option.name.substr(option.name.rfind(',') + 1);
}

template <class Names>
Candidates words_of(const Names& names) {
  Candidates made;
  for (const auto& name : names) made.push_back({std::string(name), ""});
  return made;
}

std::optional<plan::Collective> collective_named(const std::string& word) {
  for (const auto collective : plan::all_collectives()) {
    if (to_string(collective) == word) return collective;
  }
  return std::nullopt;
}

/// Of the collective that is among the words; of all where none is.
Candidates algorithms_for(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (const auto collective = collective_named(word)) {
      return words_of(all_algorithm_names(*collective));
    }
  }
  std::set<std::string_view> names;
  for (const auto collective : plan::all_collectives()) {
    for (const auto name : all_algorithm_names(collective)) names.insert(name);
  }
  return words_of(names);
}

Candidates collectives() {
  Candidates made;
  for (const auto collective : plan::all_collectives()) {
    made.push_back({std::string(to_string(collective)), ""});
  }
  return made;
}

/// What an option's value may be; nothing where it is a number or the like.
Candidates values_of(const OptionText& option, const std::vector<std::string>& words) {
  const std::string name = long_name(option);
  if (name == "--algorithm") return algorithms_for(words);
  if (name == "--operation") return words_of(kOperations);
  if (name == "--counts") return words_of(kCounts);
  if (name == "--placement") return {{"block", ""}, {"cyclic", ""}};
  if (name == "--mpi") return words_of(kMpis);
  if (name == "--nic" || name == "--simulate") return words_of(nic_profiles::names());
  if (option.value == "COLLECTIVE") return collectives();
  if (option.value == "FILE" || option.value == "PATH") return {{kFiles, ""}};
  return {};
}

const OptionText* find_option(const std::vector<OptionText>& options, const std::string& name) {
  const auto found = std::ranges::find_if(options, [&](const OptionText& option) {
    return !option.is_positional && (long_name(option) == name || option.name == name);
  });
  return found == options.end() ? nullptr : &*found;
}

Candidates options_of(const std::vector<OptionText>& options) {
  Candidates made;
  for (const OptionText& option : options) {
    if (!option.is_positional) made.push_back({long_name(option), first_line(option.help)});
  }
  return made;
}

Candidates commands_of(const ToolText& tool) {
  Candidates made;
  for (const CommandText& command : tool.commands) {
    made.push_back({command.name, first_line(command.summary)});
  }
  return made;
}

/// How many of the words before the last are neither options nor their values.
std::size_t positionals_among(const CommandText& command, const std::vector<std::string>& words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].starts_with("-")) {
      ++count;
    } else if (const OptionText* option = find_option(command.options, words[i])) {
      if (!option->value.empty()) ++i;
    }
  }
  return count;
}

/// Of a command: `words` behind its name.
Candidates for_command(const CommandText& command, const std::vector<std::string>& words) {
  const std::string& last = words.back();
  const std::size_t given = positionals_among(command, words);
  if (!command.rest.empty() && given > 0) return {{kFiles, ""}};
  if (words.size() > 1) {
    const OptionText* option = find_option(command.options, words[words.size() - 2]);
    if (option != nullptr && !option->value.empty()) return values_of(*option, words);
  }
  if (last.starts_with("-")) return options_of(command.options);
  if (!command.rest.empty()) return {{kPrograms, ""}};
  std::size_t position = 0;
  for (const OptionText& option : command.options) {
    if (option.is_positional && position++ == given) return values_of(option, words);
  }
  return options_of(command.options);
}

/// "--option", "=", "value" as "--option", "value"; "--option", "=" as the same with "".
void join_what_bash_cuts(std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "=" || !words[i - 1].starts_with("--")) continue;
    if (i + 1 < words.size()) {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      words[i].clear();
    }
  }
}

}  // namespace

std::string complete(const ToolText& tool, std::vector<std::string> words) {
  join_what_bash_cuts(words);
  if (words.empty()) words.emplace_back();
  // "--option=val" in one word: what comes is the same with the value completed.
  std::string before;
  if (const auto equals = words.back().find('=');
      words.back().starts_with("--") && equals != std::string::npos) {
    before = words.back().substr(0, equals + 1);
    const std::string value = words.back().substr(equals + 1);
    words.back() = before.substr(0, equals);
    words.push_back(value);
  }
  Candidates candidates;
  if (words.size() == 1) {
    candidates = words[0].starts_with("-") ? options_of(tool.options) : commands_of(tool);
  } else {
    const auto command = std::ranges::find(tool.commands, words[0], &CommandText::name);
    if (command == tool.commands.end()) return "";
    candidates = for_command(*command, {words.begin() + 1, words.end()});
  }
  std::string lines;
  for (const Candidate& candidate : candidates) {
    if (candidate.word.starts_with(":")) {
      lines += candidate.word + "\n";
    } else if (candidate.word.starts_with(words.back())) {
      lines += fmt::format("{}{}\t{}\n", before, candidate.word, candidate.meaning);
    }
  }
  return lines;
}

}  // namespace weft::cli
