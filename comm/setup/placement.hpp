// Placement of a communicator's ranks: nodes, sockets, and the cores that ranks of a host share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/setup/settings.hpp"
#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// The way a rank waits: asleep where the ranks of its host outnumber the cores.
struct Waiting {
  bool crowded = false;
  int cores = 0;    // of this host, where its ranks share them; 0: each has its own
  std::string why;  // for the report
};

/// From every rank's host and affinity mask, in rank order. Other jobs on the host do not count.
Waiting waiting_of(const Options& options, const Settings& settings,
                   std::span<const std::string> hosts, int rank,
                   std::span<const std::string> masks);

/// The host with the fewest cores for its ranks, of those that have too few; `cores[rank]` as
/// Waiting has it.
sim::Host busiest_host(const hierarchy::Machine& machine, std::span<const std::string> hosts,
                       std::span<const int> cores);

/// From every rank's host and socket, in rank order, and from what was asked for. UsageError where
/// that does not fit the ranks.
hierarchy::Machine machine_of(const Options& options, const Settings& settings,
                              std::span<const std::string> hosts,
                              std::span<const std::string> sockets);

/// The place of each rank on the node of `rank`; -1 on other nodes.
std::vector<int> places_on_node_of(const hierarchy::Machine& machine, int rank);

}  // namespace weft::comm
