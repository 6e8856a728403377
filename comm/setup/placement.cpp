#include "comm/setup/placement.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

#include "hierarchy/detect.hpp"
#include "hierarchy/domains.hpp"

namespace weft::comm {

using hierarchy::Machine;

Waiting waiting_of(const Options& options, const Settings& settings,
                   std::span<const std::string> hosts, int rank,
                   std::span<const std::string> masks) {
  std::vector<std::string> here;
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] == hosts[static_cast<std::size_t>(rank)]) here.push_back(masks[other]);
  }
  const hierarchy::Cores cores = hierarchy::cores_of(here);
  const bool crowded = options.crowded.value_or(static_cast<int>(here.size()) > cores.usable);
  const int shared = crowded ? cores.usable : 0;
  if (settings.crowded_given) {
    return {settings.crowded, shared,
            fmt::format("{} (WEFT_WAIT)", settings.crowded ? "sleep" : "spin")};
  }
  return {crowded, shared,
          fmt::format("{} ({} rank{} on {})", crowded ? "sleep" : "spin", here.size(),
                      here.size() == 1 ? "" : "s", describe(cores))};
}

sim::Host busiest_host(const Machine& machine, std::span<const std::string> hosts,
                       std::span<const int> cores) {
  struct Ranks {
    int cores = 0;
    int ranks = 0;
    std::set<int> nodes;
  };
  std::map<std::string_view, Ranks> shared;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    if (cores[rank] == 0) continue;
    Ranks& host = shared[hosts[rank]];
    host.cores = cores[rank];
    ++host.ranks;
    host.nodes.insert(machine.node_of(rank));
  }
  sim::Host busiest;
  double most = 0;
  for (const auto& [name, host] : shared) {
    const double each = static_cast<double>(host.ranks) / host.cores;
    if (each <= most) continue;
    most = each;
    busiest = {host.cores, static_cast<int>(host.nodes.size()), 0};
  }
  return busiest;
}

Machine machine_of(const Options& options, const Settings& settings,
                   std::span<const std::string> hosts, std::span<const std::string> sockets) {
  Machine machine = hierarchy::with_sockets(hierarchy::machine_from(hosts), sockets);
  if (!options.node_of_rank.empty()) {
    machine = Machine(options.node_of_rank).with_domains(machine.domain_of_rank());
  } else if (!settings.nodes.empty()) {
    machine = hierarchy::with_virtual_nodes(machine, settings.nodes);
  }
  if (!options.socket_of_rank.empty()) return machine.with_domains(options.socket_of_rank);
  if (settings.sockets.empty()) return machine;
  return hierarchy::with_virtual_sockets(machine, settings.sockets);
}

std::vector<int> places_on_node_of(const Machine& machine, int rank) {
  std::vector<int> places(machine.ranks(), -1);
  const auto neighbours = machine.ranks_on(machine.node_of(rank));
  for (std::size_t place = 0; place < neighbours.size(); ++place) {
    places[neighbours[place]] = static_cast<int>(place);
  }
  return places;
}

}  // namespace weft::comm
