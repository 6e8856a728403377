#include "comm/settings.hpp"

#include "alltoall/registry.hpp"
#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::comm {

Settings Settings::from_environment() {
  Settings settings;
  settings.nodes = env::text("WEFT_NODES").value_or("");
  settings.alltoall = env::text("WEFT_ALLTOALL").value_or("");
  if (!settings.alltoall.empty()) {
    try {
      alltoall::Algorithm::parse(settings.alltoall);
    } catch (const UsageError& error) {
      throw_usage("WEFT_ALLTOALL={}: {}", settings.alltoall, error.what());
    }
  }
  settings.port = verbs::PortSettings::from_environment();
  settings.eager_bytes = env::bytes("WEFT_EAGER", 0, 1 << 30).value_or(settings.eager_bytes);
  settings.registrations.bytes = env::bytes("WEFT_REGISTRATION_CACHE", 0, std::uint64_t{1} << 40)
                                     .value_or(settings.registrations.bytes);
  settings.stage_bytes =
      env::bytes("WEFT_STAGE", 64 << 10, std::uint64_t{64} << 30).value_or(settings.stage_bytes);
  settings.timeout_ns = env::integer("WEFT_TIMEOUT", 0, 1'000'000).value_or(0) * 1'000'000'000;
  const std::string wait = env::text("WEFT_WAIT").value_or("auto");
  if (wait != "auto" && wait != "spin" && wait != "sleep") {
    throw_usage("WEFT_WAIT={}: not one of auto, spin, sleep", wait);
  }
  settings.crowded_given = wait != "auto";
  settings.crowded = wait == "sleep";
  return settings;
}

}  // namespace weft::comm
