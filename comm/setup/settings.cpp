#include "comm/setup/settings.hpp"

#include <cctype>
#include <csignal>

#include "base/env.hpp"
#include "base/error.hpp"
#include "engine/heap/heap.hpp"
#include "tune/facts.hpp"

namespace weft::comm {

std::string algorithm_variable(plan::Collective collective) {
  std::string name = "WEFT_";
  for (const char c : to_string(collective)) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::vector<std::string> Settings::shared_variables() {
  std::vector<std::string> names = {"WEFT_NODES", "WEFT_SOCKETS", "WEFT_DETERMINISTIC",
                                    "WEFT_AFTER", "WEFT_CHECK"};
  for (const plan::Collective collective : plan::all_collectives()) {
    names.push_back(algorithm_variable(collective));
  }
  return names;
}

Settings Settings::from_environment() {
  Settings settings;
  settings.nodes = env::text("WEFT_NODES").value_or("");
  settings.sockets = env::text("WEFT_SOCKETS").value_or("");
  for (const plan::Collective collective : plan::all_collectives()) {
    const std::string variable = algorithm_variable(collective);
    const std::string text = env::text(variable.c_str()).value_or("");
    if (text.empty()) continue;
    try {
      settings.algorithms[collective] = tune::Algorithm::parse(collective, text).name();
    } catch (const UsageError& error) {
      throw_usage("{}={}: {}", variable, text, error.what());
    }
  }
  settings.profile = env::text("WEFT_PROFILE").value_or("");
  settings.table = env::text("WEFT_TABLE").value_or("");
  settings.deterministic = env::flag("WEFT_DETERMINISTIC").value_or(false);
  settings.progress_thread = env::flag("WEFT_PROGRESS_THREAD").value_or(false);
  settings.port = verbs::PortSettings::from_environment();
  settings.eager_bytes = env::bytes("WEFT_EAGER", 0, 1 << 30).value_or(settings.eager_bytes);
  settings.registrations.bytes = env::bytes("WEFT_REGISTRATION_CACHE", 0, std::uint64_t{1} << 40)
                                     .value_or(settings.registrations.bytes);
  settings.stage_bytes =
      env::bytes("WEFT_STAGE", 64 << 10, std::uint64_t{64} << 30).value_or(settings.stage_bytes);
  settings.heap_bytes = engine::heap::wanted();
  settings.timeout_ns = env::integer("WEFT_TIMEOUT", 0, 1'000'000).value_or(0) * 1'000'000'000;
  settings.port.absence_ns = settings.timeout_ns;
  if (const auto signal = env::text("WEFT_STUCK_SIGNAL")) {
    if (*signal != "USR1" && *signal != "USR2") {
      throw_usage("WEFT_STUCK_SIGNAL={}: not one of USR1, USR2", *signal);
    }
    settings.stuck_signal = *signal == "USR1" ? SIGUSR1 : SIGUSR2;
  }
  settings.check = env::flag("WEFT_CHECK").value_or(false);
  const std::string after = env::text("WEFT_AFTER").value_or("auto");
  if (after != "auto" && after != "0") throw_usage("WEFT_AFTER={}: not one of auto, 0", after);
  settings.from_first_call = after == "0" || settings.check;
  if (const auto devices = env::text("WEFT_DEVICE_MEMORY").value_or("auto"); devices != "auto") {
    using enum Settings::DeviceMemory;
    settings.device_memory = env::parse_flag("WEFT_DEVICE_MEMORY", devices) ? on : off;
  }
  settings.cma = env::flag("WEFT_CMA").value_or(true);
  const std::string wait = env::text("WEFT_WAIT").value_or("auto");
  if (wait != "auto" && wait != "spin" && wait != "sleep") {
    throw_usage("WEFT_WAIT={}: not one of auto, spin, sleep", wait);
  }
  settings.crowded_given = wait != "auto";
  settings.crowded = wait == "sleep";
  return settings;
}

}  // namespace weft::comm
