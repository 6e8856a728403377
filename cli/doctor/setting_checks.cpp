#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/doctor/checks.hpp"
#include "comm/setup/settings.hpp"
#include "plan/collective_set.hpp"

namespace weft::cli {

namespace {

using enum Verdict;

/// A setting that is right, and holds weft back.
struct Brake {
  std::string_view name;
  std::string_view value;  // with which it does; empty: any but "0"
  Verdict verdict;
  std::string_view meaning;
};

constexpr std::array kBrakes = std::to_array<Brake>({
    {"WEFT_DISABLE", "1", problem, "weft does nothing"},
    {"WEFT_DISABLE", "", warning, "these collectives go to the MPI"},
    {"WEFT_NODES", "", warning, "ranks of a host reach one another by the device: for trying"},
    {"WEFT_SOCKETS", "1", warning, "sockets are not looked at"},
    {"WEFT_SOCKETS", "", warning, "these are not the real sockets: for trying"},
    {"WEFT_VIEW", "staged", warning, "large blocks inside a node are copied twice"},
    {"WEFT_DEVICE", "soft", warning, "hosts are not joined by the software device"},
    {"WEFT_SOFT_FAULTS", "", warning, "the software device fails as it is told"},
    {"WEFT_SOFT_PATH", "agent", warning, "bytes take the slowest way of the software device"},
    {"WEFT_PROFILE", "none", warning, "algorithms are chosen by fixed rules, not by the adapter"},
    {"WEFT_REGISTRATION_CACHE", "0", warning, "buffers are registered for each call anew"},
    {"WEFT_DETERMINISTIC", "1", warning, "reductions have one algorithm, not the fastest"},
    {"WEFT_WAIT", "spin", warning, "where ranks outnumber cores those that wait take them"},
    {"WEFT_LOG", "debug", warning, "writing so much takes its time"},
    {"WEFT_RECOVERY", "0", warning, "a connection that breaks ends the program"},
});

const Brake* brake_for(const comm::Setting& setting) {
  const auto holds = [&](const Brake& brake) {
    if (brake.name != setting.name || !setting.value) return false;
    return brake.value.empty() ? *setting.value != "0" : *setting.value == brake.value;
  };
  const auto found = std::ranges::find_if(kBrakes, holds);
  return found == kBrakes.end() ? nullptr : &*found;
}

bool names_an_algorithm(const comm::Setting& setting) {
  return setting.value && std::ranges::any_of(plan::all_collectives(), [&](auto collective) {
           return comm::algorithm_variable(collective) == setting.name;
         });
}

Finding unknown(const std::string& name) {
  const std::string meant = comm::nearest_setting(name);
  return {problem, name, meant.empty() ? "no such setting" : "misspelt: " + meant,
          "it does nothing",
          meant.empty() ? fmt::format("unset {}", name)
                        : fmt::format("export {}=\"${}\"; unset {}", meant, name, name)};
}

}  // namespace

Findings check_settings(const Info& info, std::span<const std::string> variables) {
  Findings findings;
  for (const std::string& text : info.problems) {
    const std::string name = text.substr(0, text.find('='));
    findings.push_back({problem, "settings", text, "programs end in MPI_Init with this line",
                        name.starts_with("WEFT_") ? fmt::format("unset {}", name) : "weft info"});
  }
  for (const comm::Setting& setting : info.settings) {
    if (const Brake* brake = brake_for(setting)) {
      findings.push_back({brake->verdict, setting.name, *setting.value, std::string(brake->meaning),
                          fmt::format("unset {}", setting.name)});
    } else if (names_an_algorithm(setting)) {
      findings.push_back({warning, setting.name, *setting.value,
                          "one algorithm for all sizes, whether it is the fastest or not",
                          fmt::format("unset {}", setting.name)});
    }
  }
  for (const std::string& name : variables) {
    const auto known = std::ranges::find(info.settings, name, &comm::Setting::name);
    if (known == info.settings.end()) findings.push_back(unknown(name));
  }
  if (findings.empty()) {
    findings.push_back({ok, "settings",
                        variables.empty() ? "none" : fmt::format("{} set", variables.size()), "",
                        ""});
  }
  return findings;
}

}  // namespace weft::cli
