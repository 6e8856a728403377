// Table of all settings that weft reads from the environment: names, defaults, meanings and current
// values, for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::comm {

struct Setting {
  std::string name;
  std::string fallback;  // the default, as text
  std::string meaning;
  std::optional<std::string> value;  // in the environment
};

std::vector<Setting> settings();

/// The setting of that name, or the one that may have been meant; empty where none is near.
std::string nearest_setting(std::string_view name);

}  // namespace weft::comm
