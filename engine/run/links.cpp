#include "engine/run/links.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "base/give_way.hpp"
#include "engine/node/shm_wire.hpp"

namespace weft::engine {

namespace {

// How long to wait for a peer to close its end. A peer that sends later will see an error.
constexpr std::int64_t kGoodbye_ns = 2'000'000'000;

/// An address is the rendezvous limit, which both ends must share, then the wire's own.
std::string with_limit(std::uint64_t limit, std::string_view address) {
  std::string text(reinterpret_cast<const char*>(&limit), sizeof limit);
  return text.append(address);
}

std::string_view without_limit(std::uint64_t expected, std::string_view text, int peer) {
  std::uint64_t limit = 0;
  if (text.size() < sizeof limit) throw Error(fmt::format("rank {}: no address", peer));
  std::memcpy(&limit, text.data(), sizeof limit);
  if (limit != expected) {
    throw_usage("WEFT_EAGER={}: rank {} has {}; all ranks must have the same", expected, peer,
                limit);
  }
  return text.substr(sizeof limit);
}

}  // namespace

Links::Links(std::span<const int> place_of_rank, NodeControl* node, Settings settings,
             const NetworkShare* share)
    : place_of_rank_(place_of_rank.begin(), place_of_rank.end()),
      node_(node),
      settings_(std::move(settings)),
      memory_use_(std::ranges::all_of(place_of_rank_, [](int place) { return place >= 0; })
                      ? MemoryUse::node
                      : MemoryUse::device),
      is_own_(share == nullptr),
      ends_(place_of_rank.size()) {
  if (share != nullptr) {
    network_ = share->network;
    process_of_rank_ = share->process_of_rank;
  } else {
    network_ = std::make_shared<Network>();
    process_of_rank_.resize(ends_.size());
    std::iota(process_of_rank_.begin(), process_of_rank_.end(), 0);
  }
}

Links::~Links() {
  network_->remove(*this);
  const std::int64_t deadline = now_ns() + kGoodbye_ns;
  while (!close() && (is_troubled() || now_ns() < deadline)) {
    if (!give_way()) ::sched_yield();
  }
  for (End& end : ends_) {
    if (end.flow != nullptr) end.connection->abandon(*end.flow);
  }
}

bool Links::close() noexcept {
  if (network_->endpoint() == nullptr) return true;
  if (is_own_) network_->prepare_to_end();
  network_->endpoint()->poll();
  bool all_over = true;
  for (End& end : ends_) {
    if (end.flow != nullptr && !close(end)) all_over = false;
  }
  return all_over;
}

/// True when an end has done all that it can. A connection that is being mended has its own
/// timeout, and fails where mending it is no use: the peer, too, must learn that this end has gone.
bool Links::close(End& end) const noexcept {
  verbs::RcWire& wire = end.flow->wire;
  verbs::Channel& channel = end.flow->channel;
  // After a failure the transfers are gone: channels only deliver what they have already sent.
  const verbs::Status status = poisoned_ ? wire.poll() : channel.progress();
  const auto leave = [&end](void (verbs::FlowGroup::*how)(verbs::Flow&) noexcept) {
    (end.connection->*how)(*end.flow);
    end.flow = nullptr;
    end.channel = nullptr;
    return true;
  };
  // A channel that the peer has closed does not fail with its connection.
  if (status == verbs::Status::failed || channel.peer_abort() || end.connection->has_failed()) {
    return leave(&verbs::FlowGroup::abandon);
  }
  if (wire.is_recovering()) return poisoned_ && leave(&verbs::FlowGroup::abandon);
  if (!channel.said_close()) {
    wire.signal_from_now_on();
    channel.close();
  }
  const bool is_over = channel.said_close() && channel.is_closed_by_peer() && wire.is_drained();
  return is_over && leave(&verbs::FlowGroup::give_back);
}

void Links::poll_device() noexcept {
  if (network_->endpoint() == nullptr) return;
  network_->endpoint()->poll();
  if (!is_troubled()) return;
  for (const End& end : ends_) {
    // A failure is reported by the execution that waits for the channel.
    if (end.flow != nullptr) end.channel->progress();
  }
}

/// Of messages that were lost after the calls that had sent them: their receivers wait, and this
/// rank may wait for these elsewhere.
void Links::take_care() noexcept {
  if (!turn_->try_lock()) return;  // the caller mends them itself
  if (!poisoned_) poll_device();
  turn_->unlock();
}

bool Links::some_channel_is_troubled() const noexcept {
  return std::ranges::any_of(
      ends_, [](const End& end) { return end.flow != nullptr && end.flow->wire.is_recovering(); });
}

/// The process may live on, but peers that wait for it must not be told that it is alive.
void Links::poison() noexcept {
  poisoned_ = true;
  for (const End& end : ends_) {
    if (end.flow != nullptr) end.connection->stop_answering();
  }
}

Links::Usage Links::usage() const {
  Usage usage;
  const verbs::Endpoint* endpoint = network_->endpoint();
  if (endpoint == nullptr) return usage;
  for (const auto& rail : endpoint->rails()) usage.rails.push_back({rail->name(), 0, 0});
  for (const End& end : ends_) {
    if (end.flow == nullptr) continue;
    usage.bytes += end.flow->wire.held_bytes();
    usage.reconnections += end.connection->reconnections() - end.reconnections_before;
    usage.pairs += end.connection->lanes();
    for (std::size_t lane = 0; lane < end.connection->lanes(); ++lane) {
      ++usage.rails[lane].pairs;
      usage.rails[lane].sent_bytes += end.flow->wire.sent_bytes()[lane] - end.sent_before[lane];
    }
  }
  return usage;
}

std::vector<int> Links::missing(std::span<const int> peers) const {
  std::vector<int> result;
  for (const int peer : peers) {
    if (ends_[peer].channel == nullptr) result.push_back(peer);
  }
  return result;
}

verbs::Endpoint& Links::open() {
  verbs::Endpoint& endpoint = network_->open(settings_.port, node_ == nullptr ? 0 : node_->place(),
                                             settings_.registrations);
  if (registrations_ == nullptr) {
    registrations_ = std::make_unique<verbs::RegistrationCache::User>(network_->registrations());
  }
  return endpoint;
}

std::vector<std::string> Links::offer(std::span<const int> peers) {
  std::size_t local = 0;
  for (const int peer : peers) local += is_local(peer) ? 1 : 0;
  const std::size_t step = node_ == nullptr ? 0 : ShmWire::inbox_bytes(*node_);
  if (local != 0) offered_ = SharedMemory::create("weft-channels", local * step);
  std::vector<std::string> addresses;
  std::uint64_t offset = 0;
  for (const int peer : peers) {
    if (is_local(peer)) {
      std::string address(reinterpret_cast<const char*>(&offset), sizeof offset);
      addresses.push_back(
          with_limit(settings_.rendezvous_bytes, address.append(offered_.handle())));
      offset += step;
      continue;
    }
    End& end = ends_[peer];
    open();
    end.connection = &network_->connection(process_of_rank_[peer]);
    end.offer = std::make_unique<verbs::FlowOffer>(*end.connection, settings_.rendezvous_bytes);
    addresses.push_back(with_limit(settings_.rendezvous_bytes, end.offer->text()));
  }
  return addresses;
}

void Links::accept(std::span<const int> peers, std::span<const std::string> addresses) {
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const int peer = peers[i];
    const auto address = without_limit(settings_.rendezvous_bytes, addresses[i], peer);
    End& end = ends_[peer];
    if (!is_local(peer)) {
      if (turn_ != nullptr) network_->add(*this);
      end.flow = &end.offer->accept(address);
      end.offer.reset();
      end.channel = &end.flow->channel;
      end.reconnections_before = end.connection->reconnections();
      end.sent_before = end.flow->wire.sent_bytes();
      continue;
    }
    std::uint64_t their_offset = 0;
    if (address.size() < sizeof their_offset) throw Error(fmt::format("rank {}: no address", peer));
    std::memcpy(&their_offset, address.data(), sizeof their_offset);
    end.local_wire = std::make_unique<ShmWire>(
        *node_, place_of_rank_[peer], offered_, offset,
        SharedMemory::attach(address.substr(sizeof their_offset)), their_offset);
    offset += ShmWire::inbox_bytes(*node_);
    end.local_channel =
        std::make_unique<verbs::Channel>(*end.local_wire, settings_.rendezvous_bytes);
    end.channel = end.local_channel.get();
  }
}

}  // namespace weft::engine
