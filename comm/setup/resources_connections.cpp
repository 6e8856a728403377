// Resources: channels to other ranks, and the memory that messages need.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/setup/resources.hpp"

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

/// The descriptors that a device will open: when it is opened, for each connection, and, if it is
/// the software device, when the first message is sent.
std::size_t descriptors_for(std::span<const int> peers, const engine::Links& links,
                            std::span<const int> place_of_rank) {
  constexpr std::size_t kOfDevice = 12, kOfConnection = 1, kOfSoftPeer = 3;
  const auto remote = static_cast<std::size_t>(
      std::ranges::count_if(peers, [&](int peer) { return place_of_rank[peer] < 0; }));
  if (remote == 0) return 0;
  const verbs::Endpoint* open = links.open_device();
  if (open == nullptr) return kOfDevice + kOfConnection * remote;
  return open->rails().front()->software() ? kOfSoftPeer * remote : 0;
}

}  // namespace

bool Resources::lacks_channel(const plan::Plan& plan) const {
  return !links_->missing(peers_of(std::span(&plan, 1))).empty();
}

void Resources::connect(std::span<const plan::Plan> plans) {
  connect(peers_of(plans), need_of(plans));
}

engine::MemoryNeed Resources::need_of(std::span<const plan::Plan> plans) const {
  engine::MemoryNeed need;
  for (const plan::Plan& plan : plans) need.add(executor_->need_of(plan, place_of_rank_));
  return need;
}

void Resources::connect(std::span<const int> peers, const engine::MemoryNeed& need) {
  const std::vector<int> missing = links_->missing(peers);
  std::vector<std::string> offers(missing.size());
  // Where nothing is to be connected, what the program has left itself is its own affair.
  const auto leave_some = [&] {
    if (!missing.empty()) leave_descriptors(descriptors_for(missing, *links_, place_of_rank_));
  };
  members_.agree([&] {
    leave_some();
    offers = links_->offer(missing);
  });
  const auto addresses = members_.exchange(missing, offers);
  members_.agree([&] {
    links_->accept(missing, addresses);
    executor_->provide(need);
    leave_some();
  });
  note_connections();
}

bool Resources::lacks_memory(const plan::Plan& plan) const {
  return executor_->lacks(need_of(std::span(&plan, 1)));
}

void Resources::provide_memory(std::span<const plan::Plan> plans) {
  members_.agree([&] { executor_->provide(need_of(plans)); });
}

void Resources::connect_pairs(const plan::Plan& plan) {
  const std::vector<int> missing = links_->missing(peers_of(std::span(&plan, 1)));
  if (missing.empty()) return;
  std::string error;
  const auto addresses = exchange_in_pairs(missing, error, [&] {
    leave_descriptors(descriptors_for(missing, *links_, place_of_rank_));
    return links_->offer(missing);
  });
  // A rank that has failed comes here, too, for those of its peers that do not know. And a peer
  // that cannot accept has no channel by which to say so later.
  exchange_in_pairs(missing, error, [&] {
    links_->accept(missing, addresses);
    executor_->provide(need_of(std::span(&plan, 1)));
    return std::vector<std::string>(missing.size());
  });
  if (!error.empty()) poison_with(std::move(error));
  note_connections();
}

/// What each of `peers` has for this rank out of its step; `step` returns what this rank has for
/// them. `error`: of this rank, or of one of them, and they are told; then no step is taken.
std::vector<std::string> Resources::exchange_in_pairs(
    std::span<const int> peers, std::string& error,
    const std::function<std::vector<std::string>()>& step) {
  constexpr char kDone = '+', kFailed = '!';  // the first byte says which
  std::vector<std::string> mine(peers.size());
  try {
    if (error.empty()) mine = step();
  } catch (const std::exception& thrown) {
    error = fmt::format("rank {}: {}", rank(), thrown.what());
  }
  if (!error.empty()) mine.assign(peers.size(), error);
  for (std::string& text : mine) text.insert(0, 1, error.empty() ? kDone : kFailed);
  auto theirs = members_.exchange(peers, mine);
  for (std::string& text : theirs) {
    const bool is_error = !text.starts_with(kDone);
    text.erase(0, 1);
    if (is_error && error.empty()) error = text;
  }
  return theirs;
}

void Resources::note_connections() {
  if (links_->endpoint() != nullptr) device_name_ = links_->endpoint()->describe();
}

}  // namespace weft::comm
