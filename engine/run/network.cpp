#include "engine/run/network.hpp"

#include <algorithm>
#include <utility>

#include "engine/board/whereabouts.hpp"

namespace weft::engine {

namespace {
// For several threads: each has a device context, queues, and a thread that answers for liveness.
constexpr int kNetworksForThreads = 4;
}  // namespace

verbs::Endpoint& Network::open(const verbs::PortSettings& port, int turn,
                               const verbs::RegistrationLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (endpoint_ == nullptr) {
    auto endpoint = std::make_unique<verbs::Endpoint>(port, turn);
    registrations_ = std::make_unique<verbs::RegistrationCache>(*endpoint, limits);
    slabs_ = std::make_unique<SlabRegistrations>(*endpoint);
    static_assert(board::kWhereaboutsBytes == verbs::Notice::kReasonBytes);
    endpoint->set_teller(board::answer);
    endpoint_ = std::move(endpoint);
    endpoint_->set_caretaker([this] { return take_care(); });
    opened_.store(endpoint_.get(), std::memory_order_release);
  }
  return *endpoint_;
}

Network::~Network() {
  if (endpoint_ != nullptr) endpoint_->set_caretaker({});
}

void Network::add(CaredFor& member) {
  const std::lock_guard lock(care_mutex_);
  if (std::ranges::find(members_, &member) == members_.end()) members_.push_back(&member);
}

void Network::remove(CaredFor& member) noexcept {
  const std::lock_guard lock(care_mutex_);
  std::erase(members_, &member);
}

/// In the thread of the liveness responder. Whether more is to do.
bool Network::take_care() noexcept {
  const std::lock_guard lock(care_mutex_);
  endpoint_->poll();
  for (CaredFor* member : members_) member->take_care();
  return endpoint_->is_mending();
}

verbs::FlowGroup& Network::connection(int process) {
  const std::lock_guard lock(mutex_);
  auto& connection = connections_[process];
  if (connection == nullptr) connection = std::make_unique<verbs::FlowGroup>(*endpoint_);
  return *connection;
}

Network::Counts Network::counts() {
  const std::lock_guard lock(mutex_);
  Counts counts;
  for (const auto& [process, connection] : connections_) {
    if (connection == nullptr) continue;
    counts.pairs += connection->lanes();
    counts.reconnections += connection->reconnections();
  }
  return counts;
}

void Network::prepare_to_end() noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_ending_, true)) return;
  for (const auto& [process, connection] : connections_) {
    if (connection != nullptr) connection->prepare_to_end();
  }
}

Network::Counts Networks::counts() const {
  Network::Counts all;
  for (const auto& network : networks_) {
    const Network::Counts one = network->counts();
    all.pairs += one.pairs;
    all.reconnections += one.reconnections;
  }
  return all;
}

Networks::Networks(bool for_several_threads) {
  const int count = for_several_threads ? kNetworksForThreads : 1;
  for (int i = 0; i < count; ++i) networks_.push_back(std::make_shared<Network>());
}

}  // namespace weft::engine
