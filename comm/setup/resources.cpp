#include "comm/setup/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "comm/setup/placement.hpp"
#include "engine/heap/heap.hpp"
#include "engine/views/view.hpp"
#include "hierarchy/detect.hpp"

namespace weft::comm {

namespace {

/// Ranks that plans exchange messages with, ascending.
std::vector<int> peers_of(std::span<const plan::Plan> plans) {
  std::vector<int> peers;
  for (const plan::Plan& plan : plans) {
    for (const plan::Op& op : plan.ops()) {
      if (op.kind == plan::OpKind::send || op.kind == plan::OpKind::recv) peers.push_back(op.peer);
    }
  }
  std::ranges::sort(peers);
  peers.erase(std::ranges::unique(peers).begin(), peers.end());
  return peers;
}

// Of the stages of a communicator that has small calls only.
constexpr std::size_t kLeastHalf = 8 << 10;
// Few sizes until the largest: each is agreed upon by all ranks, and registered with the device.
constexpr std::size_t kGrowth = 4;

void require_one_for_each(const char* option, std::size_t entries, int ranks) {
  if (entries == 0 || entries == static_cast<std::size_t>(ranks)) return;
  throw_usage("{} has {} entries for {} ranks", option, entries, ranks);
}

}  // namespace

Resources::Resources(std::unique_ptr<Bootstrap> bootstrap, const Options& options)
    : members_(std::move(bootstrap)), host_progress_(members_.bootstrap()), machine_({0}) {
  make_node(options);
  links_ = std::make_unique<engine::Links>(place_of_rank_, node_.get(), settings_.port,
                                           settings_.eager_bytes, settings_.registrations);
  executor_ = std::make_unique<engine::Executor>(
      rank(), node_.get(), crowded_, *links_,
      engine::WhileWaiting{.turn = [this] { return host_progress_.while_waiting(); },
                           .progress = [this] { members_.bootstrap().progress(); },
                           .check = [this] { members_.bootstrap().check(); }},
      settings_.timeout_ns);
  requests_.emplace(*executor_, !crowded_);
  members_.attach(*requests_);
}

void Resources::read_settings(const Options& options) {
  settings_ = Settings::from_environment();
  for (const auto& [name, algorithm] : options.algorithms) {
    const plan::Collective collective = plan::parse_collective(name);
    settings_.algorithms[collective] = tune::Algorithm::parse(collective, algorithm).name();
  }
  settings_.deterministic |= options.deterministic;
  settings_.progress_thread |= options.progress_thread;
  // A note says why when there is none.
  if (settings_.heap_bytes) engine::heap::start(*settings_.heap_bytes);
}

void Resources::make_node(const Options& options) {
  const int ranks = members_.size();
  const auto hosts = members_.agree([&] {
    read_settings(options);
    std::string host = hierarchy::host_identity();
    require_one_for_each("node_of_rank", options.node_of_rank.size(), ranks);
    require_one_for_each("socket_of_rank", options.socket_of_rank.size(), ranks);
    return host;
  });
  // An affinity mask, behind the socket that it lies in.
  const bool finds_sockets = options.socket_of_rank.empty() && settings_.sockets.empty();
  auto masks = members_.allgather((finds_sockets ? hierarchy::socket_identity() : "") + '\n' +
                                  hierarchy::affinity_mask());
  std::vector<std::string> sockets;
  for (std::string& mask : masks) {
    const auto end = mask.find('\n');
    sockets.push_back(mask.substr(0, end));
    mask.erase(0, end + 1);
  }
  const Waiting waiting = waiting_of(options, settings_, hosts, rank(), masks);
  crowded_ = waiting.crowded;
  waiting_ = waiting.why;
  const auto handles = members_.agree([&] {
    machine_ = machine_of(options, settings_, hosts, sockets);
    place_of_rank_ = places_on_node_of(machine_, rank());
    const auto neighbours = machine_.ranks_on(machine_.node_of(rank()));
    if (neighbours.size() > 1) {
      node_ = std::make_unique<engine::NodeControl>(place(), neighbours, crowded_);
    }
    return node_ ? node_->handle() : std::string();
  });
  members_.agree([&] {
    if (node_) node_->attach(of_neighbours(handles));
  });
  agree_on_view(hosts, why_no_heap(), waiting.cores);
}

/// The view is a fact of the whole communicator: plans that read peers' buffers are chosen by all
/// ranks or by none.
void Resources::agree_on_view(std::span<const std::string> hosts, const std::string& heap_missing,
                              int cores) {
  constexpr char kStaged = static_cast<char>(engine::View::staged);
  std::string worst(1, static_cast<char>(node_ ? best_view() : engine::View::same_process));
  const bool sees_heaps = node_ && node_->peers().sees_heaps();
  const auto all =
      members_.allgather(fmt::format("{}{:d}{:d}{}", worst, sees_heaps, crowded_, cores));
  std::vector<int> cores_of_rank;
  for (const std::string& one : all) {
    worst[0] = std::max(worst[0], one[0]);
    any_crowded_ |= one[2] == '1';
    cores_of_rank.push_back(std::stoi(one.substr(3)));
  }
  busiest_host_ = busiest_host(machine_, hosts, cores_of_rank);
  view_ = static_cast<engine::View>(worst[0]);
  only_heaps_ = worst[0] == kStaged && std::ranges::all_of(all, [](const std::string& one) {
                  return one[0] != kStaged || one[1] == '1';
                });
  if (node_) node_->peers().set_view(view_);
  note_view(heap_missing);
}

void Resources::note_view(const std::string& heap_missing) {
  view_name_ = only_heaps_ ? "shared heap, with copies of the rest" : to_string(view_);
  if (view_ == engine::View::staged && !only_heaps_ &&
      engine::best_allowed_view() != engine::View::staged) {
    members_.note(
        "peers' buffers cannot be read (process_vm_readv was refused): copies are staged");
  }
  if (!heap_missing.empty()) members_.note(heap_missing);
  if (std::string why = why_no_xpmem(); !why.empty()) members_.note(std::move(why));
}

/// Of a heap that was asked for.
std::string Resources::why_no_heap() const {
  if (!settings_.heap_bytes || !node_) return {};
  const std::string why = engine::heap::start(*settings_.heap_bytes);
  if (!why.empty()) return fmt::format("no shared heap: {}", why);
  if (node_->peers().why_no_heaps().empty()) return {};
  return fmt::format("peers' shared heaps are not all seen: {}", node_->peers().why_no_heaps());
}

/// The best view by which this rank reaches the buffers of all neighbours.
engine::View Resources::best_view() {
  using engine::View;
  const View view = node_->peers().probe();
  const bool has_rest = view == View::xpmem || view == View::cma;
  return has_rest && node_->peers().sees_heaps() ? View::shared_heap : view;
}

/// Of xpmem, where it was asked for by name.
std::string Resources::why_no_xpmem() const {
  using engine::View;
  if (!node_ || engine::best_allowed_view() != View::xpmem || view_ == View::xpmem) return {};
  const std::string& why = node_->peers().why_no_xpmem();
  return fmt::format("WEFT_VIEW=xpmem: {}: peers' buffers take the next view",
                     why.empty() ? "refused by some rank" : why);
}

/// From what all ranks gave, what the ranks of this node gave, by place.
std::vector<std::string> Resources::of_neighbours(std::span<const std::string> of_ranks) const {
  std::vector<std::string> result;
  for (const int neighbour : machine_.ranks_on(machine_.node_of(rank()))) {
    result.push_back(of_ranks[neighbour]);
  }
  return result;
}

/// `counts_heaps`: buffers outside of the shared heap are copied there.
tune::Direct Resources::direct(bool counts_heaps) const {
  switch (view_) {
    case engine::View::same_process:
    case engine::View::shared_heap:
    case engine::View::xpmem:
      return tune::Direct::loads;
    case engine::View::cma:
      return tune::Direct::calls;
    case engine::View::staged:
      break;
  }
  return only_heaps_ && counts_heaps ? tune::Direct::loads : tune::Direct::none;
}

tune::Situation Resources::situation() const {
  // The buffers of an alltoallv are never copied to the shared heap.
  return {machine_,     direct(true),  direct(false),         settings_.deterministic,
          any_crowded_, busiest_host_, settings_.eager_bytes, settings_.algorithms};
}

std::optional<nic_profiles::DeviceName> Resources::device() {
  try {
    const verbs::Endpoint& endpoint = links_->open();
    const verbs::Rail& rail = *endpoint.rails()[endpoint.nearest_first().front()];
    return nic_profiles::DeviceName{rail.device(), rail.vendor(), rail.part()};
  } catch (const Error&) {
    return std::nullopt;  // the first connection will throw it
  }
}

void Resources::make_stages(std::size_t need) {
  const std::size_t known = stages_ == nullptr ? 0 : stages_->half_bytes();
  if (stages_ != nullptr && known >= need) return;
  const std::size_t most = std::max<std::size_t>(settings_.stage_bytes / 2, need);
  const std::size_t half_bytes =
      std::min(most, std::max({kLeastHalf, std::bit_ceil(need), kGrowth * known}));
  std::unique_ptr<engine::Stages> stages;
  std::string handle;
  members_.agree([&] {
    stages = std::make_unique<engine::Stages>(place(), places(), half_bytes);
    handle = stages->handle();
  });
  const auto handles = members_.allgather(handle);
  members_.agree([&] {
    stages->attach(of_neighbours(handles));
    if (links_->endpoint() != nullptr) stages->register_with(*links_->endpoint());
  });
  // No neighbour still reads the old ones: all have come here since their last execution.
  executor_->set_stages(stages.get());
  if (executor_->is_idle()) outgrown_.clear();
  if (stages_ != nullptr && !executor_->is_idle()) outgrown_.push_back(std::move(stages_));
  stages_ = std::move(stages);
}

bool Resources::lacks_channel(const plan::Plan& plan) const {
  return !links_->missing(peers_of(std::span(&plan, 1))).empty();
}

void Resources::connect(std::span<const plan::Plan> plans) {
  connect(peers_of(plans));
}

void Resources::connect(std::span<const int> peers) {
  const std::vector<int> missing = links_->missing(peers);
  std::vector<std::string> offers(missing.size());
  members_.agree([&] { offers = links_->offer(missing); });
  const auto addresses = members_.exchange(missing, offers);
  members_.agree([&] {
    links_->accept(missing, addresses);
    executor_->provide_memory(0);
  });
  note_connections();
}

bool Resources::lacks_scratch(const plan::Plan& plan) const {
  return executor_->lacks_scratch(plan.scratch_bytes());
}

void Resources::make_scratch(std::uint64_t bytes) {
  members_.agree([&] { executor_->provide_memory(bytes); });
}

void Resources::connect_pairs(const plan::Plan& plan) {
  const std::vector<int> missing = links_->missing(peers_of(std::span(&plan, 1)));
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
  auto addresses = members_.exchange(missing, offers);
  if (!error.empty()) poison_all(error);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const bool is_address = addresses[i].starts_with('+');
    addresses[i].erase(0, 1);
    if (is_address) continue;
    poison_all(fmt::format("rank {} cannot connect: {}", missing[i], addresses[i]));
  }
  links_->accept(missing, addresses);
  note_connections();
}

void Resources::note_connections() {
  connections_ = links_->connections();
  if (links_->endpoint() != nullptr) device_name_ = links_->endpoint()->describe();
}

engine::Prepared Resources::prepare(const plan::Plan& plan,
                                    std::span<const engine::InlineOp> inline_ops,
                                    std::span<const int> place_of_rank) {
  if (place_of_rank.empty()) place_of_rank = place_of_rank_;
  try {
    if (plan.stage_bytes() > (stages_ == nullptr ? 0 : stages_->half_bytes())) {
      throw Error(fmt::format("a plan needs stages of {} bytes", plan.stage_bytes()));
    }
    return executor_->prepare(engine::Program(plan, place_of_rank, places(), inline_ops));
  } catch (const std::exception& error) {
    poison_all(error.what());
  }
}

void Resources::poison_all(std::string_view why) {
  std::string text = fmt::format("rank {}: {}", rank(), why);
  executor_->poison(text);
  members_.poison(std::move(text));
  members_.throw_poison();
}

void Resources::require_no_failure() {
  if (executor_->failure().empty()) return;
  members_.poison(executor_->failure());
  members_.throw_poison();
}

}  // namespace weft::comm
