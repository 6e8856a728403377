// Help text of the tool as values, from which manual pages and completions are made.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

struct OptionText {
  std::string name;   ///< "--nodes"; of a positional argument "collective".
  std::string value;  ///< The name of its value, as "N"; empty: it takes none.
  std::string help;   ///< May have several lines.
  bool is_positional = false;
};

struct CommandText {
  std::string name;
  std::string summary;
  std::string footer;
  std::vector<OptionText> options;
  std::string rest;  ///< What follows the options of a command that runs a program; else empty.
};

struct ToolText {
  std::string name;
  std::string summary;
  std::string footer;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

}  // namespace weft::cli
