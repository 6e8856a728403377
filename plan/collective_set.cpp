#include "plan/collective_set.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/settings.hpp"

namespace weft::plan {

namespace {

std::optional<bool> flag_in(std::string_view what, std::string_view text) {
  try {
    return env::parse_flag(what, text);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view item) {
  std::string names;
  for (const Collective collective : all_collectives())
    append_to_list(names, to_string(collective));
  throw_usage("{}={}: '{}' is none of yes, no, or collectives joined by commas: {}", what, text,
              item, names);
}

}  // namespace

CollectiveSet CollectiveSet::all() {
  CollectiveSet set;
  for (const Collective collective : all_collectives()) set.insert(collective);
  return set;
}

CollectiveSet CollectiveSet::parse(std::string_view what, std::string_view text) {
  if (const auto flag = flag_in(what, text)) return *flag ? all() : CollectiveSet();
  CollectiveSet set;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const auto found = std::ranges::find_if(
        all_collectives(), [item](Collective collective) { return to_string(collective) == item; });
    if (found == all_collectives().end()) refuse(what, text, item);
    set.insert(*found);
    if (item.size() == rest.size()) return set;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace weft::plan
