// Lane: one rail's part of a reliable connection, a queue pair and its outstanding requests.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "verbs/channel/wire.hpp"
#include "verbs/connection/rail.hpp"
#include "verbs/recovery/recovery.hpp"

namespace weft::verbs {

class Connection;  // NOLINT(*-virtual-class-destructor): it is final

/// Address of a lane, which the other end needs to connect. Sent as bytes: both ends run the same
/// build.
struct RcAddress {
  ControlAddress control;    // of its rail
  ControlAddress responder;  // of its rail's liveness responder
  std::uint32_t queue_pair = 0;
  std::uint16_t lid = 0;
  std::uint16_t partition = 0;
  std::uint8_t software = 0;
  std::uint8_t ethernet = 0;
  std::uint8_t global_required = 0;
  std::uint8_t mtu = 0;
  GidType gid_type = GidType::unknown;
  GidFamily gid_family = GidFamily::unknown;
  std::uint8_t immediate = 0;
  std::uint8_t reserved = 0;
  std::uint64_t fabric = 0;  // Library::fabric
  ibv_gid gid{};
};
static_assert(sizeof(RcAddress) == 72, "addresses are compared as bytes, so nothing is padding");

/// Owns its queue pair. The connection chooses the lane of a request, recovery resets lanes.
class RcLane final : public RecoverableLane {
 public:
  /// In state RESET. `receives`: it may have to take writes with immediate. SystemError when the
  /// device refuses a queue pair.
  RcLane(Rail& rail, Connection& connection, std::size_t number, bool receives);
  ~RcLane() override;
  RcLane(const RcLane&) = delete;
  RcLane& operator=(const RcLane&) = delete;

  Rail& rail() const noexcept { return rail_; }
  Connection& connection() const noexcept { return connection_; }
  /// Index of its rail at both ends.
  std::size_t number() const noexcept { return number_; }
  /// True if arrivals on it must be announced by writes with immediate.
  bool wants_immediate() const noexcept { return wants_immediate_; }
  const RcAddress& peer() const noexcept { return peer_; }
  /// For the peer, without `immediate`, which the connection adds.
  RcAddress address() const;
  /// UsageError when the two ports cannot reach each other.
  void set_peer(const RcAddress& peer);

  /// From the next reset() on it has receives for writes with immediate.
  void expect_immediate() noexcept { expects_immediate_ = true; }

  const char* reset(std::uint32_t epoch) noexcept override;
  const char* start() noexcept override;
  bool has_control() const noexcept override {
    return rail_.control() != nullptr && peer_.control.pair != 0;
  }
  void send_notice(Notice notice) noexcept override { send(notice, peer_.control); }
  void ask_liveness(Notice notice) noexcept override {
    if (peer_.responder.pair != 0) send(notice, peer_.responder);
  }
  void stop_answering() noexcept override;
  bool carried_nothing() const noexcept override { return completed_ == 0; }
  std::string name() const override { return rail_.name(); }
  /// True if the notice was sent by the other end of this lane.
  bool is_from_peer(const Notice& notice) const noexcept {
    return peer_.queue_pair != 0 && notice.from == peer_.queue_pair;
  }

  bool post_receive() noexcept;
  /// Returns again when the queue is full, failed when the request is refused.
  Status post(ibv_send_wr& wanted) noexcept;
  /// The number of the last request in this epoch, and of the last that is known to be complete.
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return completed_; }
  /// The last request was a put.
  void mark_put() noexcept { last_put_ = posted_; }
  bool is_full() const noexcept { return posted_ - completed_ == depth_; }
  /// True if a completion is of this epoch.
  bool is_current(const ibv_wc& completion) const noexcept;
  /// Completions come in order: this one implies all before it.
  void complete(const ibv_wc& completion) noexcept;
  bool is_drained() const noexcept { return posted_ == completed_; }
  bool puts_done() const noexcept { return completed_ >= last_put_; }
  bool expects_completion() const noexcept { return signalled_ > completed_; }
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }

  // For the connection: bytes of the puts under way that this lane carries.
  std::uint64_t share_bytes = 0;

 private:
  void send(Notice& notice, const ControlAddress& to) noexcept;
  bool modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) noexcept;

  Rail& rail_;
  Connection& connection_;
  std::size_t number_;
  ibv_cq* queue_ = nullptr;
  int room_ = 0;  // in it
  ibv_qp* pair_ = nullptr;
  RcAddress peer_;
  ibv_ah* control_address_ = nullptr;  // of the peer's control path; created when first needed
  bool wants_immediate_ = false;
  bool expects_immediate_ = false;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint64_t posted_ = 0;     // work requests of this epoch
  std::uint64_t completed_ = 0;  // those known to be complete
  std::uint64_t signalled_ = 0;  // the last one that asks for a completion
  std::uint64_t last_put_ = 0;
};

}  // namespace weft::verbs
