// One rail's part of a reliable connection: a queue pair, and what is under way on it.
#pragma once

#include <cstdint>
#include <string_view>

#include "verbs/channel/wire.hpp"
#include "verbs/connection/rail.hpp"
#include "verbs/connection/rc_address.hpp"
#include "verbs/control/control_path.hpp"

namespace weft::verbs {

class RcWire;

/// Owns its queue pair. Which lane takes what, and when a lane is reset, is the wire's business.
class RcLane {
 public:
  /// In state RESET. `receives`: it may have to take writes with immediate. SystemError when there
  /// is no queue pair to be had.
  RcLane(Rail& rail, RcWire& wire, std::size_t number, bool receives);
  ~RcLane();
  RcLane(const RcLane&) = delete;
  RcLane& operator=(const RcLane&) = delete;

  Rail& rail() const noexcept { return rail_; }
  RcWire& wire() const noexcept { return wire_; }
  /// Index of its rail at both ends.
  std::size_t number() const noexcept { return number_; }
  /// Whether the adapter asks for commits that come with a completion each.
  bool wants_immediate() const noexcept { return wants_immediate_; }
  const RcAddress& peer() const noexcept { return peer_; }
  /// What the peer must know, without what the wire adds.
  RcAddress address() const;
  /// UsageError when the two ports cannot reach each other.
  void set_peer(const RcAddress& peer);

  // Each returns null, or the state that was refused; errno says why.
  /// Begins an epoch, whatever state it is in: nothing of earlier ones can arrive any more. With
  /// receives for writes with immediate.
  const char* reset(std::uint32_t epoch, bool immediate) noexcept;
  /// Lets it receive and send.
  const char* start() noexcept;

  bool post_receive() noexcept;
  /// Again when the queue is full; failed when the request is refused.
  Status post(ibv_send_wr& wanted) noexcept;
  /// The last request was a put.
  void mark_put() noexcept { last_put_ = posted_; }
  bool is_full() const noexcept { return posted_ - completed_ == depth_; }
  /// Whether a completion is of this epoch.
  bool is_current(const ibv_wc& completion) const noexcept;
  /// Completions come in order: this one stands for all before it.
  void complete(const ibv_wc& completion) noexcept;
  bool brought_nothing() const noexcept { return completed_ == 0; }
  bool is_drained() const noexcept { return posted_ == completed_; }
  bool puts_done() const noexcept { return completed_ >= last_put_; }
  bool expects_completion() const noexcept { return signalled_ > completed_; }
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }
  /// Asks for the completion of the next request, whatever else is signalled.
  void signal_next() noexcept { signal_next_ = true; }

  /// By a datagram, which may be lost. `notice` lacks only the two queue pairs.
  void tell(Notice notice) noexcept;
  /// Likewise: asks what answers for the peer's rank.
  void ask(Notice notice) noexcept;
  bool has_control() const noexcept { return rail_.control() != nullptr && peer_.control != 0; }
  /// The peer is to hear from this end no more that its rank lives.
  void fall_silent() noexcept;
  void forget_control() noexcept;

  // The wire's notes on it.
  bool up = false;                // its queue pair takes what the peer's sends
  bool ready = false;             // and the peer's what this one sends
  bool lost = false;              // it is not to be used any more
  std::uint32_t breaks = 0;       // in a row that were its fault, each before anything got through
  std::uint64_t share_bytes = 0;  // of the puts that are spread now

 private:
  void send(Notice& notice, std::uint32_t to) noexcept;
  bool modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) noexcept;

  Rail& rail_;
  RcWire& wire_;
  std::size_t number_;
  ibv_qp* pair_ = nullptr;
  RcAddress peer_;
  ibv_ah* way_ = nullptr;  // to the peer's control path; made when first needed
  bool wants_immediate_ = false;
  bool signal_next_ = false;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint64_t posted_ = 0;     // work requests of this epoch
  std::uint64_t completed_ = 0;  // those known to be complete
  std::uint64_t signalled_ = 0;  // the last one that asks for a completion
  std::uint64_t last_put_ = 0;
};

}  // namespace weft::verbs
