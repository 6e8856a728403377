// Links: the channels of one rank to the others, made when first used.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/node/node_control.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_wire.hpp"
#include "verbs/registration/registration_cache.hpp"

namespace weft::engine {

/// Channels to other ranks: through shared memory inside the node, by a reliable connection of the
/// device elsewhere. Making one takes two steps, as each end needs the other's address: both ends
/// offer(), exchange what it returns, and accept().
class Links {
 public:
  /// `place_of_rank[r]` is rank r's place on this node, -1 elsewhere. `node` may be null where this
  /// rank is alone. The device that `port` names is opened when first needed.
  Links(std::span<const int> place_of_rank, NodeControl* node, verbs::PortSettings port,
        std::uint64_t rendezvous_bytes, const verbs::RegistrationLimits& limits);
  /// close(), again and again, but not for long.
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  /// Goes on to end the connections, without waiting: true when all that was sent has left and the
  /// peers have closed their ends, too. Nothing is sent any more after the first call.
  bool close() noexcept;

  /// Those of `peers` (ascending) to which there is no channel yet.
  std::vector<int> missing(std::span<const int> peers) const;
  /// An address for each of `peers`. Throws what opening the device throws.
  std::vector<std::string> offer(std::span<const int> peers);
  void accept(std::span<const int> peers, std::span<const std::string> addresses);

  std::size_t ranks() const { return ends_.size(); }
  /// Null when there is none.
  verbs::Channel* channel(int rank) const { return ends_[rank].channel.get(); }
  bool is_local(int rank) const { return place_of_rank_[rank] >= 0; }

  /// Polls the device, and makes progress on channels whose connections were made anew, also those
  /// that no execution of this rank waits for: their peers may.
  void poll_device() noexcept;
  bool is_troubled() const noexcept {
    return endpoint_ != nullptr && endpoint_->recoveries().recovering() != 0;
  }
  /// Connections that were made anew.
  std::uint64_t reconnections() const {
    return endpoint_ == nullptr ? 0 : endpoint_->recoveries().reconnections();
  }
  /// This rank has failed: it answers no more 'are you alive?', and mends no connection when the
  /// links end.
  void poison() noexcept;

  /// Opens the device unless it is open. Throws what that throws.
  verbs::Endpoint& open();
  /// Null until the device was opened, at the latest to connect a peer on another node.
  verbs::Endpoint* endpoint() const { return endpoint_.get(); }
  /// Of callers' buffers; there when the endpoint is.
  verbs::RegistrationCache* registrations() const { return registrations_.get(); }
  /// Queue pairs of reliable connections, on all rails, and the registered memory that the
  /// connections hold.
  std::uint64_t connections() const;
  std::uint64_t connection_bytes() const;

 private:
  struct End {
    std::unique_ptr<verbs::Wire> wire;
    std::unique_ptr<verbs::Channel> channel;  // after the wire: it goes first
    bool said_close = false;                  // to the peer
    bool is_over = false;                     // nothing is left to be done
  };
  bool close(End& end) noexcept;

  std::vector<int> place_of_rank_;
  NodeControl* node_;
  verbs::PortSettings port_;
  std::uint64_t rendezvous_bytes_;
  verbs::RegistrationLimits limits_;
  std::unique_ptr<verbs::Endpoint> endpoint_;
  std::unique_ptr<verbs::RegistrationCache> registrations_;
  std::vector<End> ends_;  // by rank
  bool poisoned_ = false;
  SharedMemory offered_;  // inboxes of the shared-memory channels of the offer under way
};

}  // namespace weft::engine
