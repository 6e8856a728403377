#include "base/json_value.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace weft {

namespace {

constexpr std::size_t kMostValueBytes = 60;

/// A callback of the parser that refuses a key that an object has twice.
class OncePerObject {
 public:
  explicit OncePerObject(std::string_view where) : where_(where) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys_.back().insert(parsed.get<std::string>()).second) {
      throw_usage("{}: {}: is there twice", where_, parsed.get_ref<const std::string&>());
    }
    return true;
  }

 private:
  std::string_view where_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are being parsed
};

}  // namespace

Json parse_json(std::string_view where, std::string_view text) {
  try {
    return Json::parse(text, OncePerObject(where));
  } catch (const Json::exception& error) {
    throw_usage("{}: no JSON: {}", where, error.what());
  }
}

void JsonValue::refuse_for(std::string_view reason) const {
  std::string shown = json_->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > kMostValueBytes) shown = shown.substr(0, kMostValueBytes) + "...";
  throw_usage("{}: {}{}{}: {}", where_, path_, path_.empty() ? "" : " = ", shown, reason);
}

void JsonValue::refuse_path(std::string_view reason) const {
  throw_usage("{}: {}: {}", where_, path_, reason);
}

std::string JsonValue::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

bool JsonValue::has(std::string_view key) const {
  return json_->contains(key);
}

JsonValue JsonValue::at(std::string_view key) const {
  const auto found = json_->find(key);
  if (found == json_->end()) throw_usage("{}: {}: is missing", where_, path_of(key));
  return {where_, path_of(key), *found};
}

JsonValue JsonValue::at(std::size_t index) const {
  return {where_, fmt::format("{}[{}]", path_, index), (*json_)[index]};
}

void JsonValue::require_keys(std::span<const std::string_view> keys) const {
  if (!json_->is_object()) refuse("must be an object of {}", fmt::join(keys, ", "));
  for (const auto& [key, value] : json_->items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    throw_usage("{}: {}: unknown; here are allowed: {}", where_, path_of(key),
                fmt::join(keys, ", "));
  }
}

std::string JsonValue::text() const {
  if (!json_->is_string() || json_->get_ref<const std::string&>().empty()) {
    refuse("must be a text that is not empty");
  }
  return json_->get<std::string>();
}

double JsonValue::number(double low, double high) const {
  const double value = json_->is_number() ? json_->get<double>() : low - 1;
  if (value < low || value > high) refuse("must be a number from {} to {}", low, high);
  return value;
}

std::uint64_t JsonValue::whole(double low, double high) const {
  if (!json_->is_number_unsigned() || json_->get<double>() < low || json_->get<double>() > high) {
    refuse("must be a whole number from {} to {}", low, high);
  }
  return json_->get<std::uint64_t>();
}

}  // namespace weft
