// Diagnostics on standard error, silent unless WEFT_LOG=error|warn|info|debug asks for them.
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace weft::log {

enum class Level { off, error, warn, info, debug };

/// The level that WEFT_LOG sets; read once.
Level level();

/// One line, "weft[pid] level: message", in one write so that ranks do not interleave.
void write(Level at, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::debug)
    write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (level() >= Level::warn) write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft::log
