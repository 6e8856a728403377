#include "engine/run/links.hpp"

#include <sched.h>

#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "engine/node/shm_wire.hpp"

namespace weft::engine {

namespace {

// How long to wait for a peer to close its end. A peer that sends later will see an error.
constexpr std::int64_t kGoodbye_ns = 2'000'000'000;
constexpr std::size_t kInboxStep = round_up(verbs::kInboxBytes, std::size_t{64});

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

Links::Links(std::span<const int> place_of_rank, NodeControl* node, verbs::PortSettings port,
             std::uint64_t rendezvous_bytes, const verbs::RegistrationLimits& limits)
    : place_of_rank_(place_of_rank.begin(), place_of_rank.end()),
      node_(node),
      port_(std::move(port)),
      rendezvous_bytes_(rendezvous_bytes),
      limits_(limits),
      ends_(place_of_rank.size()) {}

Links::~Links() {
  const std::int64_t deadline = now_ns() + kGoodbye_ns;
  while (!close() && (is_troubled() || now_ns() < deadline)) ::sched_yield();
}

bool Links::close() noexcept {
  if (endpoint_ == nullptr) return true;
  endpoint_->poll();
  bool all_over = true;
  for (std::size_t peer = 0; peer < ends_.size(); ++peer) {
    End& end = ends_[peer];
    if (end.channel == nullptr || is_local(static_cast<int>(peer)) || end.is_over) continue;
    end.is_over = close(end);
    all_over = all_over && end.is_over;
  }
  return all_over;
}

/// True when an end has done all that it can. A connection that is being mended has its own
/// timeout.
bool Links::close(End& end) noexcept {
  auto& wire = static_cast<verbs::RcWire&>(*end.wire);
  verbs::Channel& channel = *end.channel;
  // After a failure the transfers are gone: channels only deliver what they have already sent.
  const verbs::Status status = poisoned_ ? wire.poll() : channel.progress();
  if (status == verbs::Status::failed || channel.peer_abort() != nullptr) return true;
  if (wire.is_recovering()) return poisoned_ || channel.is_closed_by_peer();
  if (!end.said_close) {
    wire.signal_next();
    end.said_close = channel.close() == verbs::Status::ok;
  }
  return end.said_close && channel.is_closed_by_peer() && wire.is_drained();
}

void Links::poll_device() noexcept {
  if (endpoint_ == nullptr) return;
  endpoint_->poll();
  for (std::size_t peer = 0; is_troubled() && peer < ends_.size(); ++peer) {
    const bool remote = ends_[peer].channel != nullptr && !is_local(static_cast<int>(peer));
    // A failure is reported by the execution that waits for the channel.
    if (remote) ends_[peer].channel->progress();
  }
}

/// The process may live on, but peers that wait for it must not be told that it is alive.
void Links::poison() noexcept {
  poisoned_ = true;
  if (endpoint_ == nullptr) return;
  for (const auto& rail : endpoint_->rails()) rail->stop_responder();
}

std::uint64_t Links::connections() const {
  std::uint64_t pairs = 0;
  if (endpoint_ == nullptr) return pairs;
  for (const auto& rail : endpoint_->rails()) pairs += rail->pairs();
  return pairs;
}

std::uint64_t Links::connection_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t peer = 0; peer < ends_.size(); ++peer) {
    if (ends_[peer].wire == nullptr || is_local(static_cast<int>(peer))) continue;
    bytes += static_cast<const verbs::RcWire&>(*ends_[peer].wire).held_bytes();
  }
  return bytes;
}

std::vector<int> Links::missing(std::span<const int> peers) const {
  std::vector<int> result;
  for (const int peer : peers) {
    if (ends_[peer].channel == nullptr) result.push_back(peer);
  }
  return result;
}

verbs::Endpoint& Links::open() {
  if (endpoint_ == nullptr) {
    endpoint_ = std::make_unique<verbs::Endpoint>(port_, node_ == nullptr ? 0 : node_->place());
    registrations_ = std::make_unique<verbs::RegistrationCache>(*endpoint_, limits_);
  }
  return *endpoint_;
}

std::vector<std::string> Links::offer(std::span<const int> peers) {
  std::size_t local = 0;
  for (const int peer : peers) local += is_local(peer) ? 1 : 0;
  if (local != 0) offered_ = SharedMemory::create("weft-channels", local * kInboxStep);
  std::vector<std::string> addresses;
  std::uint64_t offset = 0;
  for (const int peer : peers) {
    if (is_local(peer)) {
      std::string address(reinterpret_cast<const char*>(&offset), sizeof offset);
      addresses.push_back(with_limit(rendezvous_bytes_, address.append(offered_.handle())));
      offset += kInboxStep;
      continue;
    }
    auto wire = std::make_unique<verbs::RcWire>(open());
    addresses.push_back(with_limit(rendezvous_bytes_, wire->address()));
    ends_[peer].wire = std::move(wire);
  }
  return addresses;
}

void Links::accept(std::span<const int> peers, std::span<const std::string> addresses) {
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const int peer = peers[i];
    const auto address = without_limit(rendezvous_bytes_, addresses[i], peer);
    End& end = ends_[peer];
    if (is_local(peer)) {
      std::uint64_t their_offset = 0;
      if (address.size() < sizeof their_offset)
        throw Error(fmt::format("rank {}: no address", peer));
      std::memcpy(&their_offset, address.data(), sizeof their_offset);
      end.wire = std::make_unique<ShmWire>(
          *node_, place_of_rank_[peer], offered_, offset,
          SharedMemory::attach(address.substr(sizeof their_offset)), their_offset);
      offset += kInboxStep;
    } else {
      static_cast<verbs::RcWire&>(*end.wire).connect(address);
    }
    end.channel = std::make_unique<verbs::Channel>(*end.wire, rendezvous_bytes_);
  }
}

}  // namespace weft::engine
