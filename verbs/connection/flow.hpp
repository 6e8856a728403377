// Flows: channels between two processes over one connection, which communicators take and give
// back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/channel/channel.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::verbs {

/// Flow: what one communicator has of a connection that several share.
///
/// A flow lives as long as its connection: a peer may repeat writes into its inbox after any break,
/// even after both ends have closed it. A flow that both ends have closed is idle, and serves the
/// next communicator that connects the two processes: its counts go on, so that whatever comes late
/// is an old slot or word of the same channel and changes nothing. A flow that ended otherwise is
/// never used again.
struct Flow {
  Flow(Connection& connection, std::uint64_t rendezvous_bytes)
      : wire(connection), channel(wire, rendezvous_bytes) {}
  RcWire wire;
  Channel channel;
};

class FlowOffer;

/// The connection to one peer process, and its flows. Several threads may use it, each its own
/// flows and offers, if the endpoint is for several threads.
class FlowGroup {
 public:
  /// What the constructor of Connection throws.
  explicit FlowGroup(Endpoint& endpoint);
  FlowGroup(const FlowGroup&) = delete;
  FlowGroup& operator=(const FlowGroup&) = delete;
  ~FlowGroup();

  Endpoint& endpoint() const noexcept { return endpoint_; }
  /// As Connection's.
  void stop_answering() noexcept;
  void prepare_to_end() noexcept;
  bool ask(const std::array<char, Notice::kReasonBytes>& text) noexcept;
  bool has_failed() const noexcept { return connection_->has_failed(); }
  const char* failure() const noexcept { return connection_->failure(); }
  std::size_t lanes() const noexcept { return connection_->lanes(); }
  std::uint64_t reconnections() const noexcept { return connection_->reconnections(); }

  /// Both ends have closed the flow, and what this end sent is acknowledged: others may use it.
  void give_back(Flow& flow) noexcept;
  /// Its user has gone, and it may not be used again.
  void abandon(Flow& flow) noexcept;

 private:
  friend class FlowOffer;
  void discard(Flow& flow);

  Endpoint& endpoint_;
  std::unique_ptr<Connection> connection_;
  std::vector<std::unique_ptr<Flow>> flows_;  // all; under the endpoint's guard, as idle_
  std::vector<Flow*> idle_;
};

/// One end's part in finding a flow for both ends. Each makes an offer, they exchange the texts,
/// and each accepts the other's: both find the same flow, an idle one where both have it, else a
/// new one. The first time this connects the queue pairs. An offer that is not accepted leaves its
/// flows abandoned, as the other end may use them.
class FlowOffer {
 public:
  /// Error where the connection has failed for good; SystemError where memory is refused.
  FlowOffer(FlowGroup& group, std::uint64_t rendezvous_bytes);
  FlowOffer(const FlowOffer&) = delete;
  FlowOffer& operator=(const FlowOffer&) = delete;
  ~FlowOffer();

  std::string text() const;
  /// Of the peer's text. The flow is this end's until give_back() or abandon(). What
  /// Connection::connect() throws.
  Flow& accept(std::string_view peer);

 private:
  FlowGroup& group_;
  std::uint64_t rendezvous_bytes_;
  Flow* fresh_ = nullptr;
  std::vector<Flow*> idle_;  // taken from the group's
};

}  // namespace weft::verbs
