#include "cli/terminal/json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace weft::cli {

/// Converts a value to the library's type.
struct Json::ToLibrary {
  using Library = nlohmann::ordered_json;

  Library operator()(const List& list) const {
    Library made = Library::array();
    for (const Json& item : list) made.push_back(std::visit(*this, item.value_));
    return made;
  }
  Library operator()(const Object& object) const {
    Library made = Library::object();
    for (const auto& [key, value] : object) made[key] = std::visit(*this, value.value_);
    return made;
  }
  Library operator()(const auto& value) const { return value; }
};

Json::Json(std::initializer_list<Json> items) {
  const bool is_object = std::ranges::all_of(items, [](const Json& item) {
    const auto* pair = std::get_if<List>(&item.value_);
    return pair != nullptr && pair->size() == 2 &&
           std::holds_alternative<std::string>(pair->front().value_);
  });
  if (!is_object) {
    value_ = List(items);
    return;
  }
  *this = object();
  for (const Json& item : items) {
    const List& pair = std::get<List>(item.value_);
    (*this)[std::get<std::string>(pair[0].value_)] = pair[1];
  }
}

Json Json::object() {
  Json made;
  made.value_ = Object();
  return made;
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object();
  auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, key, &Member::first);
  if (found != members.end()) return found->second;
  return members.emplace_back(std::string(key), Json()).second;
}

void Json::erase(std::string_view key) {
  std::erase_if(std::get<Object>(value_),
                [&](const Member& member) { return member.first == key; });
}

void Json::push_back(Json item) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = List();
  std::get<List>(value_).push_back(std::move(item));
}

std::string Json::text() const {
  return std::visit(ToLibrary(), value_)
      .dump(2, ' ', false, ToLibrary::Library::error_handler_t::replace);
}

}  // namespace weft::cli
