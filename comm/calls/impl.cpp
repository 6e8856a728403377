// Setting a communicator up: the machine, what the node shares, connections.
#include "comm/calls/impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "comm/setup/peers.hpp"
#include "comm/setup/together.hpp"
#include "engine/memory/heap.hpp"
#include "engine/memory/view.hpp"
#include "hierarchy/detect.hpp"
#include "hierarchy/domains.hpp"

namespace weft {

using hierarchy::Machine;

namespace {

struct Waiting {
  bool crowded = false;
  int cores = 0;    // of this host, where its ranks share them; 0: each has one
  std::string why;  // for the report
};

/// The ranks of this host, as far as this communicator knows them, against its cores.
Waiting waiting_of(const comm::Settings& settings, std::span<const std::string> hosts, int rank,
                   std::span<const std::string> masks) {
  std::vector<std::string> here;
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] == hosts[static_cast<std::size_t>(rank)]) here.push_back(masks[other]);
  }
  const hierarchy::Cores cores = hierarchy::cores_of(here);
  const bool crowded = static_cast<int>(here.size()) > cores.usable;
  const int shared = crowded ? cores.usable : 0;
  if (settings.crowded_given) {
    return {settings.crowded, shared,
            fmt::format("{} (WEFT_WAIT)", settings.crowded ? "sleep" : "spin")};
  }
  return {crowded, shared,
          fmt::format("{} ({} rank{} on {})", crowded ? "sleep" : "spin", here.size(),
                      here.size() == 1 ? "" : "s", describe(cores))};
}

/// The host with the fewest cores for its ranks of those that have too few; `cores[rank]` as
/// Waiting has it.
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

std::vector<int> places_on_node_of(const Machine& machine, int rank) {
  std::vector<int> places(machine.ranks(), -1);
  const auto neighbours = machine.ranks_on(machine.node_of(rank));
  for (std::size_t place = 0; place < neighbours.size(); ++place) {
    places[neighbours[place]] = static_cast<int>(place);
  }
  return places;
}

}  // namespace

Communicator::Impl::Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : bootstrap_(std::move(bootstrap)), rank_(bootstrap_->rank()), machine_({0}) {
  const int ranks = bootstrap_->size();
  std::string host;
  together([&] {
    settings_ = comm::Settings::from_environment();
    for (const auto& [name, algorithm] : options.algorithms) {
      const plan::Collective collective = plan::parse_collective(name);
      settings_.algorithms[collective] = tune::parse_algorithm(collective, algorithm).name;
    }
    settings_.deterministic |= options.deterministic;
    settings_.progress_thread |= options.progress_thread;
    // A note says why when there is none.
    if (settings_.heap_bytes) engine::heap::start(*settings_.heap_bytes);
    host = hierarchy::host_identity();
    if (!options.node_of_rank.empty() &&
        options.node_of_rank.size() != static_cast<std::size_t>(ranks)) {
      throw_usage("node_of_rank has {} entries for {} ranks", options.node_of_rank.size(), ranks);
    }
    if (!options.socket_of_rank.empty() &&
        options.socket_of_rank.size() != static_cast<std::size_t>(ranks)) {
      throw_usage("socket_of_rank has {} entries for {} ranks", options.socket_of_rank.size(),
                  ranks);
    }
  });
  const auto hosts = bootstrap_->allgather(host);
  // A mask, behind the socket that it lies in.
  const bool finds_sockets = options.socket_of_rank.empty() && settings_.sockets.empty();
  auto masks = bootstrap_->allgather((finds_sockets ? hierarchy::socket_identity() : "") + '\n' +
                                     hierarchy::affinity_mask());
  std::vector<std::string> sockets;
  for (std::string& mask : masks) {
    const auto end = mask.find('\n');
    sockets.push_back(mask.substr(0, end));
    mask.erase(0, end + 1);
  }
  const Waiting waiting = waiting_of(settings_, hosts, rank_, masks);
  crowded_ = waiting.crowded;
  statistics_.waiting = waiting.why;
  together([&] {
    machine_ = machine_of(options, hosts, sockets);
    place_of_rank_ = places_on_node_of(machine_, rank_);
    const auto neighbours = machine_.ranks_on(machine_.node_of(rank_));
    if (neighbours.size() > 1) {
      node_ = std::make_unique<engine::Node>(place_of_rank_[rank_], neighbours, crowded_);
    }
  });
  const auto handles = bootstrap_->allgather(node_ ? node_->handle() : std::string());
  together([&] {
    if (node_) node_->attach(of_neighbours(handles));
  });
  // The view is a fact of the whole communicator: plans that read peers' buffers are chosen by all
  // ranks or by none.
  const std::string heap_missing = why_no_heap();
  constexpr char kStaged = static_cast<char>(engine::View::staged);
  std::string tried(1, static_cast<char>(node_ ? best_view() : engine::View::same_process));
  const bool sees_heaps = node_ && node_->sees_heaps();
  const auto views = bootstrap_->allgather(
      fmt::format("{}{:d}{:d}{}", tried, sees_heaps, crowded_, waiting.cores));
  std::vector<int> cores;
  for (const std::string& one : views) {
    tried[0] = std::max(tried[0], one[0]);
    any_crowded_ |= one[2] == '1';
    cores.push_back(std::stoi(one.substr(3)));
  }
  host_ = busiest_host(machine_, hosts, cores);
  view_ = static_cast<engine::View>(tried[0]);
  only_heaps_ = tried[0] == kStaged && std::ranges::all_of(views, [](const std::string& one) {
                  return one[0] != kStaged || one[1] == '1';
                });
  if (node_) node_->set_view(view_);
  statistics_.view = only_heaps_ ? "shared heap, with copies of the rest" : to_string(view_);
  if (view_ == engine::View::staged && !only_heaps_ &&
      engine::best_allowed_view() != engine::View::staged) {
    statistics_.notes.emplace_back(
        "peers' buffers cannot be read (process_vm_readv was refused): copies are staged");
  }
  if (!heap_missing.empty()) statistics_.notes.push_back(heap_missing);
  if (std::string why = why_no_xpmem(); !why.empty()) statistics_.notes.push_back(std::move(why));
  links_ = std::make_unique<engine::Links>(place_of_rank_, node_.get(), settings_.port,
                                           settings_.eager_bytes, settings_.registrations);
  executor_ = std::make_unique<engine::Executor>(
      rank_, node_.get(), crowded_, *links_,
      engine::WhileWaiting{.turn = [this] { return move_host_on_meanwhile(); },
                           .progress = [this] { bootstrap_->progress(); },
                           .check = [this] { bootstrap_->check(); }},
      settings_.timeout_ns);
  // The buffers of an alltoallv are not copied to where peers see them.
  const tune::Direct vectors = view_ == engine::View::staged ? tune::Direct::none : direct();
  chooser_.emplace(tune::Situation{machine_, direct(), vectors, settings_.deterministic,
                                   any_crowded_, host_, settings_.eager_bytes,
                                   settings_.algorithms});
  if (machine_.nodes() > 1) find_profile();
}

Machine Communicator::Impl::machine_of(const Options& options, std::span<const std::string> hosts,
                                       std::span<const std::string> sockets) const {
  Machine machine = hierarchy::with_sockets(hierarchy::machine_from(hosts), sockets);
  if (!options.node_of_rank.empty()) {
    machine = Machine(options.node_of_rank).with_domains(machine.domain_of_rank());
  } else if (!settings_.nodes.empty()) {
    machine = hierarchy::with_virtual_nodes(machine, settings_.nodes);
  }
  if (!options.socket_of_rank.empty()) return machine.with_domains(options.socket_of_rank);
  if (settings_.sockets.empty()) return machine;
  return hierarchy::with_virtual_sockets(machine, settings_.sockets);
}

/// For the report: of a heap that was asked for.
std::string Communicator::Impl::why_no_heap() const {
  if (!settings_.heap_bytes || !node_) return {};
  const std::string why = engine::heap::start(*settings_.heap_bytes);
  if (!why.empty()) return fmt::format("no shared heap: {}", why);
  if (node_->why_no_heaps().empty()) return {};
  return fmt::format("peers' shared heaps are not all seen: {}", node_->why_no_heaps());
}

/// By which this rank reaches all of its neighbours' buffers.
engine::View Communicator::Impl::best_view() {
  using engine::View;
  const View view = node_->probe_view();
  const bool has_rest = view == View::xpmem || view == View::cma;
  return has_rest && node_->sees_heaps() ? View::shared_heap : view;
}

/// For the report: of xpmem, where it was asked for by name.
std::string Communicator::Impl::why_no_xpmem() const {
  using engine::View;
  if (!node_ || engine::best_allowed_view() != View::xpmem || view_ == View::xpmem) return {};
  const std::string& why = node_->why_no_xpmem();
  return fmt::format("WEFT_VIEW=xpmem: {}: peers' buffers take the next view",
                     why.empty() ? "refused by some rank" : why);
}

std::vector<std::string> Communicator::Impl::of_neighbours(
    std::span<const std::string> of_ranks) const {
  std::vector<std::string> result;
  for (const int neighbour : machine_.ranks_on(machine_.node_of(rank_))) {
    result.push_back(of_ranks[neighbour]);
  }
  return result;
}

void Communicator::Impl::make_stages(std::size_t half_bytes) {
  if (stages_ != nullptr && stages_->half_bytes() >= half_bytes) return;
  std::unique_ptr<engine::Stages> stages;
  std::string handle;
  together([&] {
    stages = std::make_unique<engine::Stages>(place_of_rank_[rank_],
                                              machine_.ranks_on_node_of(rank_), half_bytes);
    handle = stages->handle();
  });
  const auto handles = allgather(handle);
  together([&] { stages->attach(of_neighbours(handles)); });
  // No neighbour still reads the old ones: all have come here since their last execution.
  executor_->set_stages(stages.get());
  if (executor_->is_idle()) outgrown_.clear();
  if (stages_ != nullptr && !executor_->is_idle()) outgrown_.push_back(std::move(stages_));
  stages_ = std::move(stages);
  statistics_.stage_bytes = 2 * stages_->half_bytes();
}

void Communicator::Impl::connect(std::span<const int> peers) {
  const std::vector<int> missing = links_->missing(peers);
  std::vector<std::string> offers(missing.size());
  together([&] { offers = links_->offer(missing); });
  const auto addresses = exchange(missing, offers);
  together([&] { links_->accept(missing, addresses); });
  note_connections();
}

void Communicator::Impl::connect_pairs(const plan::Plan& plan) {
  const std::vector<int> missing = links_->missing(comm::peers_of(plan));
  if (missing.empty()) return;
  // The first byte says whether there is an address or an error.
  std::vector<std::string> offers(missing.size());
  std::string error;
  try {
    offers = links_->offer(missing);
    for (std::string& offer : offers) offer.insert(0, 1, '+');
  } catch (const std::exception& thrown) {
    error = thrown.what();
    std::ranges::fill(offers, "!" + error);
  }
  auto addresses = exchange(missing, offers);
  if (!error.empty()) give_up(error);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const bool is_address = addresses[i].starts_with('+');
    addresses[i].erase(0, 1);
    if (!is_address) give_up(fmt::format("rank {} cannot connect: {}", missing[i], addresses[i]));
  }
  links_->accept(missing, addresses);
  note_connections();
}

void Communicator::Impl::note_connections() {
  statistics_.connections = links_->connections();
  if (links_->endpoint() != nullptr) statistics_.device = links_->endpoint()->describe();
}

void Communicator::Impl::give_up(std::string_view why) {
  break_for(fmt::format("rank {}: {}", rank_, why));
  executor_->give_up(broken_);
  throw PeerError(broken_);
}

Statistics Communicator::Impl::statistics() const {
  const auto hold = alone();
  Statistics result = statistics_;
  for (std::size_t i = 0; i < ticks_.size(); ++i) {
    result.entries[i].seconds = stopwatch_.seconds(ticks_[i]);
  }
  result.reconnections = links_->reconnections();
  result.channel_bytes = links_->connection_bytes();
  result.scratch_bytes = executor_->scratch_bytes();
  result.aside_bytes = aside_.capacity();
  if (node_) {
    result.heap_bytes = node_->moved_bytes(engine::View::shared_heap);
    result.xpmem_bytes = node_->moved_bytes(engine::View::xpmem);
    result.cma_bytes = node_->moved_bytes(engine::View::cma);
    if (node_->moved_bytes(engine::View::staged) != 0) {
      result.notes.emplace_back(
          "process_vm_readv was refused for some buffers of peers: their owners copied them");
    }
  }
  if (engine::heap::overlaid) {
    result.notes.emplace_back(
        "the program has mapped memory over its shared heap: peers take the next view");
  }
  if (engine::heap::refused() != 0) {
    result.notes.push_back(
        fmt::format("the shared heap of {} bytes was full: other memory was used",
                    engine::heap::range.bytes.load()));
  }
  if (const auto* endpoint = links_->endpoint()) {
    for (const auto& rail : endpoint->rails()) {
      result.rails.push_back({rail->name(), rail->pairs(), rail->sent_bytes()});
    }
  }
  if (const auto* cache = links_->registrations()) {
    result.registrations = cache->counters().misses;
    result.registration_hits = cache->counters().hits;
    if (cache->counters().refused != 0) {
      result.notes.push_back(
          fmt::format("{}: what could not be registered was copied", cache->error()));
    }
    if (result.registrations != 0 && !cache->why_not().empty()) {
      result.notes.push_back(
          fmt::format("no registration was kept for later calls: {}", cache->why_not()));
    }
  }
  return result;
}

}  // namespace weft
