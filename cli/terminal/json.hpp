// JSON value, to be printed. A thin layer over the JSON library, whose headers take long to
// compile: only json.cpp includes them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::cli {

/// Null, a boolean, a number, a string, a list of values, or an object that keeps the order in
/// which keys are added.
class Json {
 public:
  Json() = default;
  Json(bool value) : value_(value) {}                                        // NOLINT(*-explicit-*)
  Json(double value) : value_(value) {}                                      // NOLINT(*-explicit-*)
  Json(const char* text) : value_(std::string(text)) {}                      // NOLINT(*-explicit-*)
  Json(std::string text) : value_(std::move(text)) {}                        // NOLINT(*-explicit-*)
  Json(std::string_view text) : value_(std::string(text)) {}                 // NOLINT(*-explicit-*)
  Json(std::signed_integral auto value) : value_(std::int64_t{value}) {}     // NOLINT(*-explicit-*)
  Json(std::unsigned_integral auto value) : value_(std::uint64_t{value}) {}  // NOLINT(*-explicit-*)
  template <class Value>
  Json(const std::vector<Value>& values)  // NOLINT(*-explicit-*)
      : value_(std::vector<Json>(values.begin(), values.end())) {}
  /// An object where each item is a pair of a string and a value, else a list of the items.
  Json(std::initializer_list<Json> items);

  static Json array() { return std::vector<Json>(); }
  static Json object();

  /// The value under `key`, which is added where there is none. Makes an object of a null.
  Json& operator[](std::string_view key);
  void erase(std::string_view key);
  /// Adds to a list. Makes a list of a null.
  void push_back(Json item);

  /// Indented by two spaces. Text that is not UTF-8 is replaced.
  std::string text() const;

 private:
  using Member = std::pair<std::string, Json>;  // its key, and the value
  using List = std::vector<Json>;
  using Object = std::vector<Member>;
  struct ToLibrary;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object>
      value_ = nullptr;
};

}  // namespace weft::cli
