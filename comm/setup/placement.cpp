#include "comm/setup/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/other_build.hpp"
#include "hierarchy/detect.hpp"
#include "hierarchy/domains.hpp"

namespace weft::comm {

using hierarchy::Machine;

namespace {

// For RankFacts::to_text(): what was asked for, by Waiting.
constexpr char kNotAsked = '-', kSpin = '0', kSleep = '1';

/// The part of `text` before the next line end, which is removed with it.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == text.npos) throw_other_build("what a rank says of itself", text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

template <class Number>
void take_number(std::string_view& text, Number& number) {
  const std::string_view line = take_line(text);
  std::from_chars(line.data(), line.data() + line.size(), number);
}

}  // namespace

std::string RankFacts::to_text() const {
  const char asked = !crowded ? kNotAsked : *crowded ? kSleep : kSpin;
  // The mask is of any bytes, so it comes last; most of it is zero.
  const auto last = mask.find_last_not_of('\0');
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", host, socket, quota, process.number,
                     process.start, process.clock, asked,
                     std::string_view(mask).substr(0, last == mask.npos ? 0 : last + 1));
}

RankFacts RankFacts::from_text(std::string_view text) {
  RankFacts facts;
  facts.host = take_line(text);
  facts.socket = take_line(text);
  take_number(text, facts.quota);
  take_number(text, facts.process.number);
  take_number(text, facts.process.start);
  take_number(text, facts.process.clock);
  const std::string_view asked = take_line(text);
  if (asked != std::string_view(&kNotAsked, 1)) facts.crowded = asked.starts_with(kSleep);
  facts.mask = text;
  return facts;
}

Hosts::Hosts(std::span<const RankFacts> ranks) {
  std::map<std::string_view, int> number;
  std::vector<std::vector<std::string>> masks;
  std::vector<int> quota;
  for (const RankFacts& rank : ranks) {
    const auto [host, is_new] = number.try_emplace(rank.host, static_cast<int>(number.size()));
    if (is_new) {
      masks.emplace_back();
      quota.push_back(rank.quota);
    }
    host_of_rank_.push_back(host->second);
    processes_.push_back(rank.process);
    masks[static_cast<std::size_t>(host->second)].push_back(rank.mask);
  }
  for (std::size_t host = 0; host < masks.size(); ++host) {
    const hierarchy::Cores cores = hierarchy::cores_of(masks[host], quota[host]);
    hosts_.push_back({static_cast<int>(masks[host].size()), cores.bound, cores.usable});
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Host& host = hosts_[static_cast<std::size_t>(host_of_rank_[rank])];
    asked_.push_back(ranks[rank].crowded ? 1 : 0);
    crowded_.push_back(ranks[rank].crowded.value_or(host.ranks > host.usable) ? 1 : 0);
  }
}

Waiting Hosts::waiting_of(int rank) const {
  const auto at = static_cast<std::size_t>(rank);
  const char* way = crowded_[at] != 0 ? "sleep" : "spin";
  if (asked_[at] != 0) return {crowded_[at] != 0, fmt::format("{} (WEFT_WAIT)", way)};
  const Host& host = hosts_[static_cast<std::size_t>(host_of_rank_[at])];
  return {crowded_[at] != 0,
          fmt::format("{} ({} rank{} on {})", way, host.ranks, host.ranks == 1 ? "" : "s",
                      describe(hierarchy::Cores{host.bound, host.usable}))};
}

ProcessId Hosts::process_near(int rank, int other) const {
  const auto here = static_cast<std::size_t>(rank), there = static_cast<std::size_t>(other);
  return host_of_rank_[here] == host_of_rank_[there] ? processes_[there] : ProcessId{};
}

int Hosts::most_ranks_on_a_core() const {
  int most = 1;
  for (const Host& host : hosts_) {
    most = std::max(most, (host.ranks + host.usable - 1) / host.usable);
  }
  return most;
}

sim::Host Hosts::busiest(const Machine& machine, std::span<const int> members) const {
  struct Ranks {
    int ranks = 0;
    std::set<int> nodes;
  };
  std::map<int, Ranks> shared;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const int member = members[static_cast<std::size_t>(rank)];
    if (!is_crowded(member)) continue;
    Ranks& host = shared[host_of_rank_[static_cast<std::size_t>(member)]];
    ++host.ranks;
    host.nodes.insert(machine.node_of(rank));
  }
  sim::Host busiest;
  double most = 0;
  for (const auto& [number, host] : shared) {
    const int cores = hosts_[static_cast<std::size_t>(number)].usable;
    const double each = static_cast<double>(host.ranks) / cores;
    if (each <= most) continue;
    most = each;
    busiest = {cores, static_cast<int>(host.nodes.size()), 0};
  }
  return busiest;
}

Facts Facts::of(const Settings& settings, Machine machine, const Hosts& hosts,
                std::span<const int> members, int rank) {
  const bool any_crowded =
      std::ranges::any_of(members, [&hosts](int member) { return hosts.is_crowded(member); });
  const sim::Host busiest = hosts.busiest(machine, members);
  return {.settings = settings,
          .machine = std::move(machine),
          .waiting = hosts.waiting_of(rank),
          .any_crowded = any_crowded,
          .busiest_host = busiest};
}

Machine machine_of(const Options& options, const Settings& settings,
                   std::span<const RankFacts> ranks) {
  std::vector<std::string> hosts, sockets;
  for (const RankFacts& rank : ranks) {
    hosts.push_back(rank.host);
    sockets.push_back(rank.socket);
  }
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
