#include "engine/links.hpp"

#include <sched.h>

#include <cstring>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "engine/shm_wire.hpp"

namespace weft::engine {

namespace {

// A peer that does not come to its end within this has its reasons; it will see an error if it
// sends once more.
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

Links::Links(std::span<const int> place_of_rank, Node* node, std::string device,
             std::uint64_t rendezvous_bytes)
    : place_of_rank_(place_of_rank.begin(), place_of_rank.end()),
      node_(node),
      device_(std::move(device)),
      rendezvous_bytes_(rendezvous_bytes),
      ends_(place_of_rank.size()) {}

Links::~Links() {
  std::vector<End*> open;
  for (std::size_t peer = 0; peer < ends_.size(); ++peer) {
    End& end = ends_[peer];
    if (end.channel == nullptr || is_local(static_cast<int>(peer))) continue;
    static_cast<verbs::RcWire&>(*end.wire).signal_next();
    if (end.channel->close() == verbs::Status::ok) open.push_back(&end);
  }
  const std::int64_t deadline = now_ns() + kGoodbye_ns;
  while (!open.empty() && now_ns() < deadline) {
    endpoint_->poll();
    std::erase_if(open, [](const End* end) {
      const auto& wire = static_cast<verbs::RcWire&>(*end->wire);
      const bool gone = wire.failure()[0] != '\0' || end->channel->peer_abort() != nullptr;
      return gone || (end->channel->is_closed_by_peer() && wire.is_drained());
    });
    if (!open.empty()) ::sched_yield();
  }
}

std::vector<int> Links::missing(std::span<const int> peers) const {
  std::vector<int> result;
  for (const int peer : peers) {
    if (ends_[peer].channel == nullptr) result.push_back(peer);
  }
  return result;
}

std::vector<std::string> Links::offer(std::span<const int> peers) {
  std::size_t local = 0;
  for (const int peer : peers) local += is_local(peer) ? 1 : 0;
  if (local != 0) offered_ = Segment::create("weft-channels", local * kInboxStep);
  std::vector<std::string> addresses;
  std::uint64_t offset = 0;
  for (const int peer : peers) {
    if (is_local(peer)) {
      std::string address(reinterpret_cast<const char*>(&offset), sizeof offset);
      addresses.push_back(with_limit(rendezvous_bytes_, address.append(offered_.handle())));
      offset += kInboxStep;
      continue;
    }
    if (endpoint_ == nullptr) endpoint_ = std::make_unique<verbs::Endpoint>(device_);
    auto wire = std::make_unique<verbs::RcWire>(*endpoint_);
    addresses.push_back(with_limit(rendezvous_bytes_, wire->address()));
    ends_[peer].wire = std::move(wire);
    ++connections_;
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
      end.wire = std::make_unique<ShmWire>(*node_, place_of_rank_[peer], offered_, offset,
                                           Segment::attach(address.substr(sizeof their_offset)),
                                           their_offset);
      offset += kInboxStep;
    } else {
      static_cast<verbs::RcWire&>(*end.wire).connect(address);
    }
    end.channel = std::make_unique<verbs::Channel>(*end.wire, rendezvous_bytes_);
  }
}

}  // namespace weft::engine
