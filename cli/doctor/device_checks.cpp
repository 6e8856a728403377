#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/doctor/checks.hpp"

namespace weft::cli {

namespace {

using enum Verdict;

/// Of libibverbs; the other is the software device.
const LibraryInfo& hardware(const Info& info) {
  return info.libraries.front();
}

Finding check_library(const SystemFacts& system, const Info& info) {
  const LibraryInfo& library = hardware(info);
  std::vector<std::string> names;
  for (const auto& device : library.devices) names.push_back(device.name);
  Finding found{ok, "adapters", fmt::format("{}", fmt::join(names, ", ")), "", ""};
  if (!names.empty()) return found;
  if (system.adapters.empty()) {
    found.state = "none";
    found.meaning = "ranks of other hosts are not reached; inside a host nothing is missing";
    return found;
  }
  found.verdict = problem;
  found.state = fmt::format("{} in the kernel, and libibverbs: {}",
                            fmt::join(system.adapters, ", "), library.error);
  found.meaning = "calls between nodes go to the MPI";
  found.remedy = "as root: apt install libibverbs1 ibverbs-providers; modprobe ib_uverbs";
  return found;
}

Finding check_state(const std::string& name, const verbs::Port& port) {
  Finding found{warning, name, fmt::format("{}, {}", port.state, port.link_layer),
                "the port is not used", ""};
  if (port.link_layer == "Ethernet") {
    found.remedy =
        "as root: ip link set INTERFACE up (rdma link shows which), and look at the "
        "cable and the switch";
  } else if (port.state == "down") {
    found.remedy = "look at the cable and the switch: ibstat; iblinkinfo";
  } else {
    found.remedy = "start the subnet manager, once in a network: systemctl start opensm";
  }
  return found;
}

/// A port that is up: what it is, and what is not as it could be.
Finding check_port(const verbs::Device& device, const verbs::Port& port, Interface interface) {
  const std::string name = fmt::format("{}:{}", device.name, port.number);
  if (!port.error.empty()) {
    return {problem, name, port.error, "the port is not used", "dmesg | tail"};
  }
  if (port.state != "active") return check_state(name, port);
  const bool ethernet = port.link_layer == "Ethernet";
  Finding found{ok, name,
                fmt::format("active, {}, MTU {} of {}, {} GIDs", port.link_layer, port.mtu_bytes,
                            port.max_mtu_bytes, port.gids.size()),
                "", ""};
  const bool routable =
      std::ranges::any_of(port.gids, [](const verbs::Gid& gid) { return gid.type == "RoCE v2"; });
  if (ethernet && port.gids.empty()) {
    found.verdict = problem;
    found.meaning = "without a GID it reaches nobody";
    found.remedy = "as root: ip address add 10.0.0.1/24 dev INTERFACE (rdma link shows which)";
  } else if (ethernet && !routable) {
    found.verdict = warning;
    found.meaning = "without a GID of RoCE v2 it reaches its own network alone";
    found.remedy = fmt::format("as root: cma_roce_mode -d {} -p {} -m 2", device.name, port.number);
  } else if (port.mtu_bytes < port.max_mtu_bytes) {
    found.verdict = warning;
    found.meaning = "large messages go in more packets than need be";
    const std::string net =
        port.gids.empty() ? "" : interface(device.name, port.number, port.gids.front().index);
    found.remedy =
        ethernet ? fmt::format("as root, on all hosts and the switch: ip link set {} mtu 9000",
                               net.empty() ? "INTERFACE" : net)
                 : "set the MTU of the partition in opensm's partitions.conf: "
                   "Default=0x7fff,ipoib,mtu=5:ALL=full;";
  }
  return found;
}

Finding check_rails(const Info& info) {
  if (!info.device_error.empty()) {
    const bool adapter = !hardware(info).devices.empty();
    const bool soft = std::ranges::any_of(info.addons, [](const auto& addon) {
      return addon.first == "software device" && addon.second.exists;
    });
    return {adapter ? problem : warning, "between nodes", info.device_error,
            "calls between nodes go to the MPI",
            adapter || soft ? "weft info" : "apt install weft-soft (or build weft anew)"};
  }
  std::vector<std::string> names;
  for (const RailInfo& rail : info.rails) names.push_back(rail.name);
  return {ok, "between nodes", fmt::format("{}", fmt::join(names, ", ")), "", ""};
}

Finding check_profile(const Info& info) {
  constexpr int kOldDays = 180;
  Finding found{ok, "profile", info.profile, "", ""};
  if (info.profile_is_set) return found;
  const RailInfo& rail = info.rails.front();
  const std::string probe = fmt::format("weft probe --device {}", rail.device);
  if (rail.profile_age_days && !rail.profile_has_intervals) {
    found.verdict = warning;
    found.meaning =
        "if the machine was busy then, its numbers are wrong, and with them the choices";
    found.remedy = probe;
  } else if (rail.profile_age_days && *rail.profile_age_days <= kOldDays) {
    found.state += fmt::format(", {} days old", *rail.profile_age_days);
  } else if (rail.profile_age_days) {
    found.verdict = warning;
    found.state += fmt::format(", {} days old", *rail.profile_age_days);
    found.meaning = "firmware and fabric may have changed, and with them the best algorithms";
    found.remedy = probe;
  } else if (!rail.is_software) {
    found.verdict = warning;
    found.state = info.profile.empty() ? "none" : info.profile;
    found.meaning = info.profile.empty() ? "algorithms are chosen by fixed rules"
                                         : "algorithms are chosen by a profile of its kind, not by "
                                           "what was measured here";
    found.remedy = probe;
  }
  return found;
}

}  // namespace

Findings check_devices(const SystemFacts& system, const Info& info, Interface interface) {
  Findings findings = {check_library(system, info)};
  for (const auto& device : hardware(info).devices) {
    if (!device.error.empty()) {
      findings.push_back({problem, device.name, device.error, "the adapter is not used",
                          "ls -l /dev/infiniband (as root: chmod a+rw /dev/infiniband/uverbs*; "
                          "docker run --device=/dev/infiniband)"});
    }
    for (const auto& port : device.ports) {
      findings.push_back(check_port(device, port, interface));
    }
  }
  // A setting that is wrong is told with the settings, and so is a profile that it asks for.
  const bool is_setting =
      std::ranges::find(info.problems, info.device_error) != info.problems.end();
  if (!is_setting) findings.push_back(check_rails(info));
  const bool is_unreadable = info.profile_is_set && info.profile.empty();
  if (!info.rails.empty() && !is_unreadable) findings.push_back(check_profile(info));
  return findings;
}

}  // namespace weft::cli
