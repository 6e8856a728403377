// JSON files, read strictly: errors name the file, the path of the value and what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace weft {

using Json = nlohmann::ordered_json;

/// The JSON value of a text. UsageError, which begins with `where` (the file), when it is no JSON
/// or an object has a key twice (of which the parser alone would keep one without a word).
Json parse_json(std::string_view where, std::string_view text);

/// A value of a file, and its path there. Views: the file's name and the JSON must outlive it.
/// Functions that read throw UsageError when the value is not as they want it.
class JsonValue {
 public:
  /// The value at the top of the file `where`.
  JsonValue(std::string_view where, const Json& json) : where_(where), json_(&json) {}

  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  /// UsageError: the file, the path, the value, and the reason.
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_for(fmt::format(format, std::forward<Args>(args)...));
  }
  /// The same without the value.
  [[noreturn]] void refuse_path(std::string_view reason) const;
  /// The path of `key` in this object.
  std::string path_of(std::string_view key) const;

  bool has(std::string_view key) const;
  /// The value of a key, which must be there.
  JsonValue at(std::string_view key) const;
  /// The value at an index of an array, which must have it.
  JsonValue at(std::size_t index) const;

  /// Must be an object without other keys than these.
  void require_keys(std::span<const std::string_view> keys) const;
  void require_keys(std::initializer_list<std::string_view> keys) const {
    require_keys(std::span(keys.begin(), keys.size()));
  }
  /// A text that is not empty.
  std::string text() const;
  double number(double low, double high) const;
  std::uint64_t whole(double low, double high) const;

 private:
  JsonValue(std::string_view where, std::string path, const Json& json)
      : where_(where), path_(std::move(path)), json_(&json) {}
  [[noreturn]] void refuse_for(std::string_view reason) const;

  std::string_view where_;
  std::string path_;
  const Json* json_;
};

}  // namespace weft
