// Every setting that weft reads from the environment, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::cli {

struct Setting {
  std::string name;
  std::string fallback;  // what holds when it is not set
  std::string meaning;
  std::optional<std::string> value;  // as the environment has it
};

std::vector<Setting> settings();

/// What is wrong with the values, as those who read them say it; one line each.
std::vector<std::string> setting_problems();

}  // namespace weft::cli
