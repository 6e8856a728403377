#include "comm/impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "comm/selection.hpp"
#include "engine/view.hpp"
#include "hierarchy/detect.hpp"

namespace weft {

using alltoall::Algorithm;
using hierarchy::Machine;

namespace {

/// The ranks of this host, as far as this communicator knows them, against its cores.
bool is_crowded(const comm::Settings& settings, std::span<const std::string> hosts, int rank) {
  if (settings.crowded_given) return settings.crowded;
  return std::ranges::count(hosts, hosts[rank]) > hierarchy::usable_cores();
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

template <class Work>
std::vector<std::string> Communicator::Impl::together(std::string_view signature, Work work) {
  // The first byte says how it went, the rest is the signature or the error.
  std::string mine = "+" + std::string(signature);
  try {
    work();
  } catch (const UsageError& error) {
    mine = "u" + std::string(error.what());
  } catch (const std::exception& error) {
    mine = "e" + std::string(error.what());
  }
  auto all = bootstrap_->allgather(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].starts_with('+')) continue;
    broken_ = all[rank].substr(1);
    if (all[rank].starts_with('u')) throw UsageError(broken_);
    broken_ = fmt::format("rank {}: {}", rank, broken_);
    throw PeerError(broken_);
  }
  return all;
}

Communicator::Impl::Impl(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : bootstrap_(std::move(bootstrap)), rank_(bootstrap_->rank()), machine_({0}) {
  const int ranks = bootstrap_->size();
  std::string host;
  together("", [&] {
    settings_ = comm::Settings::from_environment();
    if (!options.alltoall.empty()) {
      settings_.alltoall = Algorithm::parse(options.alltoall).name();
    }
    host = hierarchy::host_identity();
    if (!options.node_of_rank.empty() &&
        options.node_of_rank.size() != static_cast<std::size_t>(ranks)) {
      throw_usage("node_of_rank has {} entries for {} ranks", options.node_of_rank.size(), ranks);
    }
  });
  const auto hosts = bootstrap_->allgather(host);
  const bool crowded = is_crowded(settings_, hosts, rank_);
  together("", [&] {
    if (!options.node_of_rank.empty()) {
      machine_ = Machine(options.node_of_rank);
    } else {
      machine_ = hierarchy::machine_from(hosts);
      if (!settings_.nodes.empty()) {
        machine_ = hierarchy::with_virtual_nodes(machine_, settings_.nodes);
      }
    }
    place_of_rank_ = places_on_node_of(machine_, rank_);
    const auto neighbours = machine_.ranks_on(machine_.node_of(rank_));
    if (neighbours.size() > 1) {
      node_ = std::make_unique<engine::Node>(place_of_rank_[rank_], neighbours, crowded);
    }
  });
  const auto handles = bootstrap_->allgather(node_ ? node_->handle() : std::string());
  together("", [&] {
    if (node_) node_->attach(of_neighbours(handles));
  });
  // The view is a fact of the whole communicator: plans that read peers' buffers are chosen by all
  // ranks or by none.
  std::string tried(1, static_cast<char>(engine::View::same_process));
  if (node_)
    tried[0] = static_cast<char>(std::max(node_->probe_view(), engine::best_allowed_view()));
  const auto views = bootstrap_->allgather(tried);
  for (const std::string& one : views) tried[0] = std::max(tried[0], one[0]);
  view_ = static_cast<engine::View>(tried[0]);
  if (node_) node_->set_view(view_);
  statistics_.view = to_string(view_);
  if (view_ == engine::View::staged && engine::best_allowed_view() != engine::View::staged) {
    statistics_.notes.emplace_back(
        "peers' buffers cannot be read (process_vm_readv was refused): copies are staged");
  }
  links_ = std::make_unique<engine::Links>(place_of_rank_, node_.get(), settings_.port,
                                           settings_.eager_bytes, settings_.registrations);
  executor_ = std::make_unique<engine::Executor>(
      rank_, node_.get(), crowded, *links_,
      engine::WhileWaiting{.progress = [this] { bootstrap_->progress(); },
                           .check = [this] { bootstrap_->check(); }},
      settings_.timeout_ns);
}

std::vector<std::string> Communicator::Impl::of_neighbours(
    std::span<const std::string> of_ranks) const {
  std::vector<std::string> result;
  for (const int neighbour : machine_.ranks_on(machine_.node_of(rank_))) {
    result.push_back(of_ranks[neighbour]);
  }
  return result;
}

Algorithm Communicator::Impl::algorithm_for(std::size_t block_bytes) const {
  if (!settings_.alltoall.empty()) return Algorithm::parse(settings_.alltoall);
  return comm::choose_alltoall({machine_, view_ != engine::View::staged}, block_bytes);
}

void Communicator::Impl::alltoall(const std::byte* input, std::byte* output,
                                  std::size_t block_bytes) {
  if (block_bytes == 0) return;
  run(call_for(block_bytes), input, output);
}

void Communicator::Impl::alltoall_in_place(std::byte* buffer, std::size_t block_bytes) {
  if (block_bytes == 0) return;
  Call& call = call_for(block_bytes);
  const std::size_t bytes = block_bytes * static_cast<std::size_t>(size());
  if (copy_.size() < bytes) copy_.resize(bytes);
  std::memcpy(copy_.data(), buffer, bytes);
  run(call, copy_.data(), buffer);
}

Communicator::Impl::Call& Communicator::Impl::call_for(std::size_t block_bytes) {
  if (last_ != nullptr && last_->block_bytes == block_bytes) return *last_;
  const auto found = calls_.find(block_bytes);
  last_ = found != calls_.end() ? found->second.get() : &prepare(block_bytes);
  return *last_;
}

std::vector<plan::Plan> Communicator::Impl::plans(const Algorithm& algorithm,
                                                  std::size_t block_bytes,
                                                  std::size_t slice_bytes) const {
  std::vector<plan::Plan> result;
  const auto add = [&](std::size_t bytes) {
    plan::Problem problem = plan::Problem::alltoall(size(), bytes);
    problem.stride = block_bytes;
    result.push_back(algorithm.plan(problem, machine_, rank_));
  };
  add(std::min(slice_bytes, block_bytes));
  if (slice_bytes < block_bytes && block_bytes % slice_bytes != 0) add(block_bytes % slice_bytes);
  return result;
}

std::size_t Communicator::Impl::slice_for(const Algorithm& algorithm, std::size_t block_bytes) {
  // Stages grow in proportion to the block. Every rank must cut alike, so the neediest decides.
  const plan::Problem probe = plan::Problem::alltoall(size(), plan::kSliceAlignment);
  const std::uint64_t own = algorithm.plan(probe, machine_, rank_).stage_bytes();
  std::uint64_t most = own;
  for (const std::string& other : bootstrap_->allgather(fmt::format("{}", own))) {
    most = std::max<std::uint64_t>(most, std::stoull(other));
  }
  if (most == 0) return block_bytes;
  const std::size_t half = std::max<std::uint64_t>(settings_.stage_bytes / 2, most);
  const std::size_t slice = half / most * plan::kSliceAlignment;
  make_stages(half);
  return std::min(slice, block_bytes);
}

void Communicator::Impl::make_stages(std::size_t half_bytes) {
  if (stages_ != nullptr && stages_->half_bytes() >= half_bytes) return;
  std::unique_ptr<engine::Stages> stages;
  std::string handle;
  together("", [&] {
    stages = std::make_unique<engine::Stages>(place_of_rank_[rank_],
                                              machine_.ranks_on_node_of(rank_), half_bytes);
    handle = stages->handle();
  });
  const auto handles = bootstrap_->allgather(handle);
  together("", [&] { stages->attach(of_neighbours(handles)); });
  // No neighbour still reads the old ones: all have come here since their last execution.
  executor_->set_stages(stages.get());
  stages_ = std::move(stages);
  statistics_.stage_bytes = 2 * stages_->half_bytes();
}

void Communicator::Impl::connect(std::span<const int> peers) {
  const std::vector<int> missing = links_->missing(peers);
  std::vector<std::string> offers(missing.size());
  together("", [&] { offers = links_->offer(missing); });
  const auto addresses = bootstrap_->exchange(missing, offers);
  together("", [&] { links_->accept(missing, addresses); });
  statistics_.connections = links_->connections();
  statistics_.channel_bytes = links_->connection_bytes();
  if (links_->endpoint() != nullptr) statistics_.device = links_->endpoint()->describe();
}

Communicator::Impl::Call& Communicator::Impl::prepare(std::size_t block_bytes) {
  if (!broken_.empty()) throw PeerError(broken_);
  auto call = std::make_unique<Call>();
  call->block_bytes = block_bytes;
  std::optional<Algorithm> algorithm;
  const std::string signature = fmt::format("alltoall of {} bytes", block_bytes);
  const auto all = together(signature, [&] { algorithm = algorithm_for(block_bytes); });
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    broken_ = fmt::format("ranks disagree: {} on rank 0, {} on rank {}", all[0].substr(1),
                          all[rank].substr(1), rank);
    throw UsageError(broken_);
  }
  call->slice_bytes = slice_for(*algorithm, block_bytes);
  std::vector<engine::Program> programs;
  std::vector<int> peers;
  together("", [&] {
    for (const plan::Plan& plan : plans(*algorithm, block_bytes, call->slice_bytes)) {
      programs.emplace_back(plan, place_of_rank_, machine_.ranks_on_node_of(rank_));
      const auto of_plan = programs.back().peers();
      peers.insert(peers.end(), of_plan.begin(), of_plan.end());
    }
  });
  std::ranges::sort(peers);
  peers.erase(std::ranges::unique(peers).begin(), peers.end());
  connect(peers);
  together("", [&] {
    call->slice = executor_->prepare(std::move(programs[0]));
    if (programs.size() > 1) call->rest = executor_->prepare(std::move(programs[1]));
  });
  call->entry = entry_for(*algorithm);
  return *(calls_[block_bytes] = std::move(call));
}

std::size_t Communicator::Impl::entry_for(const Algorithm& algorithm) {
  const std::string name = algorithm.name();
  auto& entries = statistics_.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].algorithm == name) return i;
  }
  Statistics::Entry entry;
  entry.collective = "alltoall";
  entry.algorithm = name;
  entries.push_back(std::move(entry));
  return entries.size() - 1;
}

void Communicator::Impl::run(Call& call, const std::byte* input, std::byte* output) {
  if (!broken_.empty()) throw PeerError(broken_);
  const auto begin = std::chrono::steady_clock::now();
  Statistics::Entry& entry = statistics_.entries[call.entry];
  for (std::size_t at = 0; at < call.block_bytes; at += call.slice_bytes) {
    const bool last = call.block_bytes - at < call.slice_bytes;
    engine::Prepared& prepared = last ? *call.rest : *call.slice;
    if (!executor_->run(prepared, input + at, output + at)) {
      broken_ = executor_->failure();
      throw PeerError(broken_);
    }
    entry.messages += prepared.messages;
    entry.wire_bytes += prepared.wire_bytes;
  }
  ++entry.calls;
  entry.bytes += call.block_bytes * static_cast<std::size_t>(size());
  entry.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Statistics Communicator::Impl::statistics() const {
  Statistics result = statistics_;
  result.reconnections = links_->reconnections();
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
