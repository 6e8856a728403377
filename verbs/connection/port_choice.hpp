// Which of a machine's ports are used.
#pragma once

#include <vector>

#include "verbs/connection/rail.hpp"

namespace weft::verbs {

/// The ports that the settings name, else of the system's devices the first active one and those
/// like it, else the software device's. In the order of their names in the settings, else in that
/// of the library, which is the same on nodes that are built alike: the i-th ports of two nodes are
/// joined. UsageError names what is not there and lists what is.
std::vector<OpenPort> choose_ports(const PortSettings& settings);

}  // namespace weft::verbs
