// Environment variables: parsed values, and one form of error for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::env {

/// Keeps the environment as it is now for the rest of the process: what follows reads the copy.
/// Later changes have no effect, and programs may make them while other threads read settings. Only
/// the first call does something. Call it while no thread changes the environment.
void freeze();

/// The value of `name`; nullopt when unset or empty.
std::optional<std::string> text(const char* name);

/// A whole number from `low` to `high`; UsageError names the variable, its value and the range.
std::optional<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high);

/// Bytes, with an optional suffix K, M, G, T, P or E (powers of 1024).
std::optional<std::uint64_t> bytes(const char* name, std::uint64_t low, std::uint64_t high);

/// 1, yes, on, true or 0, no, off, false.
std::optional<bool> flag(const char* name);

/// The same parsers for text from other sources; `what` names it in the error.
std::int64_t parse_integer(std::string_view what, std::string_view value, std::int64_t low,
                           std::int64_t high);
std::uint64_t parse_bytes(std::string_view what, std::string_view value, std::uint64_t low,
                          std::uint64_t high);
bool parse_flag(std::string_view what, std::string_view value);

}  // namespace weft::env
