// Settings that weft reads from the environment: names, defaults, meanings and current values.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::cli {

struct Setting {
  std::string name;
  std::string fallback;  // the default, as text
  std::string meaning;
  std::optional<std::string> value;  // in the environment
};

std::vector<Setting> settings();

/// The errors of the code that reads the settings; one line each.
std::vector<std::string> setting_problems();

}  // namespace weft::cli
