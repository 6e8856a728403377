#include "verbs/soft/process/device_settings.hpp"

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace weft::soft {

namespace {

struct Parsed {
  Settings settings;
  bool valid = true;
};

Path parse_path(const std::string& value) {
  if (value == "auto") return Path::automatic;
  if (value == "direct") return Path::direct;
  if (value == "cma") return Path::cma;
  if (value == "agent") return Path::agent;
  throw_usage("WEFT_SOFT_PATH={}: not one of auto, direct, cma, agent", value);
}

bool parse_link(const std::string& value) {
  if (value == "infiniband") return false;
  if (value == "ethernet") return true;
  throw_usage("WEFT_SOFT_LINK={}: not one of infiniband, ethernet", value);
}

Parsed parse() {
  Parsed parsed;
  try {
    parsed.settings = Settings::from_environment();
  } catch (const Error& error) {
    log::write(log::Level::error, error.what());
    parsed.valid = false;
  }
  return parsed;
}

const Parsed& parsed() {
  static const auto& value = *new Parsed(parse());  // programs end in any order
  return value;
}

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  if (const auto devices = env::integer("WEFT_SOFT_DEVICES", 1, 8)) {
    settings.devices = static_cast<unsigned>(*devices);
  }
  if (const auto path = env::text("WEFT_SOFT_PATH")) settings.path = parse_path(*path);
  if (const auto link = env::text("WEFT_SOFT_LINK")) settings.ethernet = parse_link(*link);
  if (const auto bytes = env::bytes("WEFT_SOFT_MAX_MR_SIZE", 4096, std::uint64_t{1} << 62)) {
    settings.max_mr_size = *bytes;
  }
  if (const auto bytes = env::bytes("WEFT_SOFT_MAX_REGISTERED", 4096, std::uint64_t{1} << 62)) {
    settings.max_registered = *bytes;
  }
  if (const auto faults = env::text("WEFT_SOFT_FAULTS")) {
    settings.faults = parse_faults("WEFT_SOFT_FAULTS", *faults);
  }
  return settings;
}

const Settings& settings() {
  return parsed().settings;
}
bool settings_valid() {
  return parsed().valid;
}

}  // namespace weft::soft
