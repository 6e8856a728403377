#include "engine/run/network.hpp"

namespace weft::engine {

namespace {
// For several threads: each has a device context, queues, and a thread that answers for liveness.
constexpr int kNetworksForThreads = 4;
}  // namespace

verbs::Endpoint& Network::open(const verbs::PortSettings& port, int turn,
                               const verbs::RegistrationLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (endpoint_ == nullptr) {
    auto endpoint = std::make_unique<verbs::Endpoint>(port, turn, threads_);
    registrations_ = std::make_unique<verbs::RegistrationCache>(*endpoint, limits);
    slabs_ = std::make_unique<SlabRegistrations>(*endpoint);
    endpoint_ = std::move(endpoint);
    opened_.store(endpoint_.get(), std::memory_order_release);
  }
  return *endpoint_;
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
  if (is_ending_.exchange(true)) return;
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

Networks::Networks(verbs::Threads threads) {
  const int count = threads == verbs::Threads::several ? kNetworksForThreads : 1;
  for (int i = 0; i < count; ++i) networks_.push_back(std::make_shared<Network>(threads));
}

}  // namespace weft::engine
