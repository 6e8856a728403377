#include "base/log.hpp"

#include <unistd.h>

#include <array>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::log {

namespace {
constexpr std::array<std::string_view, 5> kNames = {"off", "error", "warn", "info", "debug"};

Level parse_level() {
  const auto value = env::text("WEFT_LOG");
  if (!value) return Level::off;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (*value == kNames[i]) return static_cast<Level>(i);
  }
  throw_usage("WEFT_LOG={}: not one of off, error, warn, info, debug", *value);
}
}  // namespace

Level level() {
  static const Level value = parse_level();
  return value;
}

void write(Level at, std::string_view message) {
  const std::string line =
      fmt::format("weft[{}] {}: {}\n", ::getpid(), kNames[static_cast<std::size_t>(at)], message);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace weft::log
