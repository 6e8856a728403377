#include "base/settings.hpp"

#include "base/error.hpp"

namespace weft {

NamedSettings parse_named_settings(std::string_view what, std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  NamedSettings result{text.substr(0, colon), {}};
  for (std::string_view rest = text.substr(colon); !rest.empty();) {
    rest.remove_prefix(1);  // the colon or a comma
    const auto length = std::min(rest.find(','), rest.size());
    const std::string_view setting = rest.substr(0, length);
    rest.remove_prefix(length);
    const auto equals = setting.find('=');
    if (equals == setting.npos) {
      throw_usage("{} '{}': '{}' is not of the form parameter=value", what, text, setting);
    }
    const std::string_view key = setting.substr(0, equals);
    if (result.has(key)) throw_usage("{} '{}': parameter '{}' is there twice", what, text, key);
    result.settings.push_back({key, setting.substr(equals + 1)});
  }
  return result;
}

void append_to_list(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += name;
}

}  // namespace weft
