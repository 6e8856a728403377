// Checks of `weft doctor`: pure functions from facts to findings. What is a fact is found elsewhere
// and once: by cli/info, cli/preload, and system_facts.hpp.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/doctor/finding.hpp"
#include "cli/doctor/system_facts.hpp"
#include "cli/info/machine_info.hpp"
#include "cli/preload/installed_mpis.hpp"
#include "comm/setup/settings_table.hpp"

namespace weft::cli {

/// Kernel, limits, shared memory, cores.
Findings check_system(const SystemFacts& system, const Info& info);

/// Adapters, their ports, and the profile that is kept of them. `interface` gives the network
/// interface of a port's GID, or an empty text.
using Interface = std::string (*)(const std::string& device, int port, int gid_index);
Findings check_devices(const SystemFacts& system, const Info& info, Interface interface);

/// Add-ons and the MPIs that they fit. `guide`: what `weft exec` preloads into scripts.
Findings check_mpis(std::span<const InstalledMpi> mpis, const Addon& guide);

/// The component of Open MPI, if this user has one: `installed`. `component`: that of this weft.
Findings check_component(const std::optional<InstalledComponent>& installed,
                         const Addon& component);

/// Settings that are wrong, misspelt, or hold weft back. `variables`: the names in the environment
/// that begin with WEFT_.
Findings check_settings(const Info& info, std::span<const std::string> variables);

}  // namespace weft::cli
