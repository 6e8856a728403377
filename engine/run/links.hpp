// Links: the channels of one rank to the others, made when first used.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/node/node_control.hpp"
#include "engine/run/network.hpp"
#include "engine/run/turn.hpp"
#include "verbs/channel/channel.hpp"

namespace weft::engine {

/// Channels to other ranks: through shared memory inside the node, elsewhere by flows over the
/// connections of the rank's network, which communicators share. Making one takes two steps, as
/// each end needs the other's address: both ends offer(), exchange what it returns, and accept().
class Links final : private CaredFor {
 public:
  struct Settings {
    verbs::PortSettings port;
    std::uint64_t rendezvous_bytes = 8192;
    verbs::RegistrationLimits registrations;
  };
  /// `place_of_rank[r]` is rank r's place on this node, -1 elsewhere. `node` may be null where this
  /// rank is alone. The device that the settings name is opened when first needed. `share`: null
  /// where this communicator has a network of its own.
  Links(std::span<const int> place_of_rank, NodeControl* node, Settings settings,
        const NetworkShare* share = nullptr);
  /// close(), again and again, but not for long.
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  /// From now on another thread may mend connections and send again what was lost when they broke,
  /// in turns of its own; the caller uses these links in its turns only. Before the first offer().
  void set_turn(Turn& turn) noexcept { turn_ = &turn; }

  /// Goes on to end the channels, without waiting: true when all that was sent has left and the
  /// peers have closed their ends, too. Nothing is sent any more after the first call.
  bool close() noexcept;

  /// Those of `peers` (ascending) to which there is no channel yet.
  std::vector<int> missing(std::span<const int> peers) const;
  /// An address for each of `peers`. Throws what opening the device throws.
  std::vector<std::string> offer(std::span<const int> peers);
  void accept(std::span<const int> peers, std::span<const std::string> addresses);

  std::size_t ranks() const { return ends_.size(); }
  /// Null when there is none.
  verbs::Channel* channel(int rank) const { return ends_[rank].channel; }
  bool is_local(int rank) const { return place_of_rank_[rank] >= 0; }

  /// Polls the device, and makes progress on channels whose connections were made anew, also those
  /// that no execution of this rank waits for: their peers may.
  void poll_device() noexcept;
  /// Some channel's connection is broken, or it has not resumed since.
  bool is_troubled() const noexcept {
    const verbs::Endpoint* endpoint = network_->endpoint();
    return endpoint != nullptr && endpoint->troubled() != 0 && some_channel_is_troubled();
  }
  /// Asks the process of a rank on another node, which there is a connection to, a question; false
  /// where it cannot be asked. It may be lost.
  bool ask(int rank, const verbs::Endpoint::Answer& question) noexcept {
    verbs::FlowGroup* connection = ends_[rank].connection;
    return ends_[rank].flow != nullptr && connection != nullptr && connection->ask(question);
  }
  /// This rank has failed: it answers no more 'are you alive?' of its peers, and mends no
  /// connection when the links end.
  void poison() noexcept;

  /// Opens the device unless it is open. Throws what that throws.
  verbs::Endpoint& open();
  /// Null until the rank's network has it open.
  verbs::Endpoint* open_device() const { return network_->endpoint(); }
  /// Null until open() was called, at the latest to connect a peer on another node.
  verbs::Endpoint* endpoint() const {
    return registrations_ == nullptr ? nullptr : network_->endpoint();
  }
  /// Of callers' buffers; there when endpoint() is.
  verbs::RegistrationCache::User* registrations() const { return registrations_.get(); }

  /// Of stages and scratch memory; null until endpoint() is there.
  SlabRegistrations* slabs() const {
    return registrations_ == nullptr ? nullptr : &network_->slabs();
  }
  /// Of these: the device uses them where some ranks are on other nodes.
  MemoryUse memory_use() const noexcept { return memory_use_; }
  /// Whether a message of this size to another node goes straight into place.
  bool goes_straight(std::uint64_t bytes) const noexcept {
    return bytes > settings_.rendezvous_bytes;
  }

  /// The part of the device's connections that these links have, for the report.
  struct Usage {
    std::uint64_t pairs = 0;  // queue pairs of reliable connections, on all rails
    std::uint64_t reconnections = 0;
    std::uint64_t bytes = 0;  // registered memory of the channels
    struct Rail {
      std::string name;
      std::uint64_t pairs = 0;
      std::uint64_t sent_bytes = 0;
    };
    std::vector<Rail> rails;
  };
  Usage usage() const;

 private:
  struct End {
    std::unique_ptr<verbs::Wire> local_wire;
    std::unique_ptr<verbs::Channel> local_channel;  // after the wire: it goes first
    std::unique_ptr<verbs::FlowOffer> offer;        // under way, to another node
    verbs::FlowGroup* connection = nullptr;
    verbs::Flow* flow = nullptr;
    verbs::Channel* channel = nullptr;
    std::uint64_t reconnections_before = 0;  // when the flow was taken
    std::array<std::uint64_t, verbs::kMaxRails> sent_before{};
  };
  void take_care() noexcept override;
  bool close(End& end) const noexcept;
  bool some_channel_is_troubled() const noexcept;

  Turn* turn_ = nullptr;  // null: the caller alone uses these links
  std::vector<int> place_of_rank_;
  NodeControl* node_;
  Settings settings_;
  MemoryUse memory_use_;
  bool is_own_;  // the network is of these links alone
  std::shared_ptr<Network> network_;
  std::vector<int> process_of_rank_;
  std::unique_ptr<verbs::RegistrationCache::User> registrations_;
  std::vector<End> ends_;  // by rank
  bool poisoned_ = false;
  SharedMemory offered_;  // inboxes of the shared-memory channels of the offer under way
};

}  // namespace weft::engine
