// Named settings: the text form "name:key=value,key=value" of a choice and its parameters.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Setting {
  std::string_view key;
  std::string_view value;
};

struct NamedSettings {
  std::string_view name;
  std::vector<Setting> settings;  // each key once

  bool has(std::string_view key) const {
    return std::ranges::find(settings, key, &Setting::key) != settings.end();
  }
};

/// Parses `text`; the result consists of views of it. UsageError, which begins with `what`
/// ("algorithm"), on a setting that has no value or is there twice.
NamedSettings parse_named_settings(std::string_view what, std::string_view text);

/// The entry of a table whose name is `name`; nullptr when there is none.
template <class Table>
auto find_by_name(const Table& table, std::string_view name) -> decltype(table.data()) {
  const auto found = std::ranges::find(table, name, [](const auto& entry) { return entry.name; });
  return found == table.end() ? nullptr : &*found;
}

/// Appends `name` to a list with commas: "a", then "a, b".
void append_to_list(std::string& list, std::string_view name);

std::string names_of(const auto& table) {
  std::string list;
  for (const auto& entry : table) append_to_list(list, entry.name);
  return list;
}

}  // namespace weft
