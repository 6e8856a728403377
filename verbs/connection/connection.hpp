// Reliable connection between two processes, over one rail or several. Wires share it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_lane.hpp"

namespace weft::verbs {

class RcWire;

/// Has a lane on each rail of the endpoint, connected to the peer's lane of the same number. Any
/// number of wires (rc_wire.hpp) write by it: each into an inbox of its own, so nothing that
/// arrives needs to be sorted, and no wire waits for the receiver of another. Commits take one
/// lane, the nearest that is ready; puts are spread over all that are, in even shares.
///
/// When a lane fails the whole connection is made anew (verbs/recovery), on the lanes on which the
/// ends still receive each other's notices. So a lost rail is an ordinary break, after which there
/// is one lane less; a lane whose rail works again joins later. When it runs again it tells the
/// peer for each of its wires what this end had received, also for wires whose owners are
/// elsewhere.
///
/// Made in two steps, because each end needs the other's address: construct, exchange address(),
/// connect(). Used under the endpoint's guard, its construction and end included, but for what is
/// said to be safe without.
class Connection final : private RecoverableConnection {
 public:
  explicit Connection(Endpoint& endpoint);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { end(); }

  /// For the peer's connect().
  std::string address() const;
  /// UsageError when the two ends' ports cannot reach each other (software against hardware,
  /// InfiniBand against Ethernet), SystemError when a queue pair refuses. Where one end has more
  /// rails these are not used. The same address again does nothing; Error when it is another.
  void connect(std::string_view peer_address);
  /// Destroys the queue pairs: no wire is written any more.
  void end() noexcept;
  /// Both ends are about to end it: when it breaks after the peer has closed all wires it is not
  /// made anew, and fails. It fails, too, when the peer has given it up.
  void prepare_to_end() noexcept;
  /// The peer is not told any more that this process lives, when it asks because of a break.
  void stop_answering() noexcept;

  /// Asks the peer's liveness responder a question that is in `text`; answers are in
  /// Endpoint::take_answers(). It may be lost, as the answer may. False where there is none.
  bool ask(const std::array<char, Notice::kReasonBytes>& text) noexcept;

  Wire::LinkState link_state() const noexcept;

  /// Asks the peer's liveness responder whether its process is there, which makes it look after its
  /// connections: see LivenessResponder::set_caretaker().
  void ask_liveness() noexcept;

  // Called by rails, with a completion of a lane's queue pair and with a notice of the peer.
  void complete(RcLane& lane, const ibv_wc& completion) noexcept;
  void receive(RcLane& lane, const Notice& notice) noexcept {
    if (!lane.is_from_peer(notice)) return;
    if ((notice.flags & Notice::kWhere) != 0) return endpoint_.add_answer(notice.reason);
    recovery_->receive(lane, notice);
  }

  // Safe without the guard:
  Endpoint& endpoint() const noexcept { return endpoint_; }
  /// True if each of the peer's commits has a completion; the other end may differ.
  bool is_immediate() const noexcept { return immediate_; }
  /// The number of its queue pairs.
  std::size_t lanes() const noexcept { return lanes_.size(); }
  /// As recovery counts; and whether requests may be posted.
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  bool is_running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// How many times it was made anew.
  std::uint64_t reconnections() const noexcept {
    return reconnections_.load(std::memory_order_relaxed);
  }
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Why; empty when it has not. Never null.
  const char* failure() const noexcept { return has_failed() ? recovery_->failure() : ""; }
  /// Whether something is expected to arrive in a completion queue.
  bool wants_poll() const noexcept { return wants_poll_.load(std::memory_order_relaxed); }

 private:
  friend class RcWire;

  Received received() const noexcept override;
  bool is_ending() const noexcept override { return is_ending_; }
  bool is_closed_by_peer() const noexcept override;
  void on_change() noexcept override;
  std::string describe() const override { return endpoint_.describe(); }

  std::uint32_t add(RcWire& wire);
  void remove(RcWire& wire) noexcept;
  void tell_all() noexcept;
  /// On all lanes; false where there is none to ask.
  bool ask_responders(Notice question) noexcept;
  void arrive(RcLane& lane, std::uint32_t immediate) noexcept;
  void update_wants_poll() noexcept;
  /// The status of a request that cannot be posted now.
  Status not_now() const noexcept { return has_failed() ? Status::failed : Status::again; }
  Status post(RcLane& lane, ibv_send_wr& request) noexcept;
  RcLane& commit_lane() noexcept;
  RcLane* least_used(const RemoteKeys& keys, const Region& local) const noexcept;

  Endpoint& endpoint_;
  std::vector<RcWire*> wires_;  // by number; null where there is none
  Received received_before_;    // by wires that are gone
  std::vector<std::unique_ptr<RcLane>> lanes_;
  std::vector<std::size_t> order_;  // of the lanes, the nearest first
  std::size_t commits_ = 0;         // the lane that commits take
  std::string peer_address_;        // empty: not connected
  bool immediate_ = false;          // the peer's commits come with a completion each
  bool peer_immediate_ = false;     // and this end's
  bool is_ending_ = false;
  bool has_ended_ = false;
  bool telling_ = false;  // some wire has not told yet what it had received
  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint64_t> reconnections_{0};
  std::atomic<bool> running_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> wants_poll_{false};
  std::optional<Recovery> recovery_;  // ends before the lanes do
};

}  // namespace weft::verbs
