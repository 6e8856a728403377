#include "base/env.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "base/error.hpp"

namespace weft::env {

namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

std::atomic<const Variables*> frozen = nullptr;

template <class Number>
std::optional<Number> whole_number(std::string_view value) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

}  // namespace

void freeze() {
  if (frozen.load(std::memory_order_acquire) != nullptr) return;
  auto variables = std::make_unique<Variables>();
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view variable = *one;
    const auto sign = variable.find('=');
    if (sign != variable.npos)
      variables->emplace(variable.substr(0, sign), variable.substr(sign + 1));
  }
  const Variables* none = nullptr;
  // Threads that read settings may outlive everything: never freed.
  if (frozen.compare_exchange_strong(none, variables.get())) std::ignore = variables.release();
}

std::optional<std::string> text(const char* name) {
  if (const Variables* variables = frozen.load(std::memory_order_acquire)) {
    const auto found = variables->find(name);
    if (found == variables->end() || found->second.empty()) return std::nullopt;
    return found->second;
  }
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::int64_t parse_integer(std::string_view what, std::string_view value, std::int64_t low,
                           std::int64_t high) {
  const auto number = whole_number<std::int64_t>(value);
  if (!number || *number < low || *number > high) {
    throw_usage("{}={}: not a whole number from {} to {}", what, value, low, high);
  }
  return *number;
}

std::uint64_t parse_bytes(std::string_view what, std::string_view value, std::uint64_t low,
                          std::uint64_t high) {
  std::string_view digits = value;
  unsigned shift = 0;
  if (!digits.empty()) {
    constexpr std::string_view kSuffixes = "KMGTPEkmgtpe";
    const auto suffix = kSuffixes.find(digits.back());
    if (suffix != kSuffixes.npos) {
      shift = 10 * (static_cast<unsigned>(suffix % (kSuffixes.size() / 2)) + 1);
      digits.remove_suffix(1);
    }
  }
  const auto number = whole_number<std::uint64_t>(digits);
  if (!number || (*number << shift) >> shift != *number || (*number << shift) < low ||
      (*number << shift) > high) {
    throw_usage("{}={}: not a size from {} to {} bytes (K, M, G, T, P and E are powers of 1024)",
                what, value, low, high);
  }
  return *number << shift;
}

bool parse_flag(std::string_view what, std::string_view value) {
  constexpr std::array<std::string_view, 4> kYes = {"1", "yes", "on", "true"};
  constexpr std::array<std::string_view, 4> kNo = {"0", "no", "off", "false"};
  if (std::ranges::find(kYes, value) != kYes.end()) return true;
  if (std::ranges::find(kNo, value) != kNo.end()) return false;
  throw_usage("{}={}: not one of 1, yes, on, true, 0, no, off, false", what, value);
}

std::optional<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  return parse_integer(name, *value, low, high);
}

std::optional<std::uint64_t> bytes(const char* name, std::uint64_t low, std::uint64_t high) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  return parse_bytes(name, *value, low, high);
}

std::optional<bool> flag(const char* name) {
  const auto value = text(name);
  if (!value) return std::nullopt;
  return parse_flag(name, *value);
}

}  // namespace weft::env
