// Recovery of a broken connection: the two ends agree to connect their queue pairs again.
//
//   running --a lane fails, or a notice --> reconnecting --a lane is ready--> running,
//             of a later epoch comes                                          in the next epoch
//
// An end that reconnects has taken the queue pairs of all its lanes through RESET: nothing of the
// old connection can arrive any more. So what it has received by then is final. It says so by
// datagrams (notices) on every lane until it is answered. An end connects its queue pair of a lane
// when a notice arrives on that lane: the peer reconnects, too, and the rail works. It sends on the
// lane when a notice says that the peer's queue pair is connected. Hence neither end can still have
// old requests when the other one accepts any. Which lanes are used follows from the notices alone:
// on a rail that is down none arrives. What the channels over the connection have received, and
// must send again, they tell each other when it runs (verbs/connection/rc_wire.hpp,
// verbs/channel/channel.hpp). The counts in notices are sums over all channels: they only show
// whether the connection gets on.
//
// Epochs count the connections between two ends. A notice of a later epoch makes its receiver
// reconnect, too; a notice that comes late or twice is of an earlier epoch or tells what is known.
// Queue pairs keep their numbers, and their packets are numbered from another place in each epoch.
// While a lane is missing both ends send a notice on it now and then. When it gets through, the
// lane joins the epoch under way, of which it has carried nothing.
//
// An end excludes a lane that fails again and again, and does not tell the other end. So the two
// may exclude different lanes and have none in common. An end that stays without a ready lane for a
// second uses those again that it has excluded. The last lane is never excluded for its failures.
//
// Of two ends that end the connection, each waits for the other to close it. An end that the peer
// has closed needs nothing more, and what the peer still waits for is this end's own close, which
// may have been lost when the connection broke. So the end does not reconnect: it fails, and the
// notice of that lets the peer go, too.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verbs/channel/wire.hpp"
#include "verbs/control/control_path.hpp"

namespace weft::verbs {

/// One lane of a connection as recovery sees it: a queue pair that can be reset and connected
/// again, and notices to the other end of the lane. Implemented by RcLane.
class RecoverableLane {
 public:
  enum class State : std::uint8_t {
    unconnected,
    connected,  ///< This queue pair accepts what the peer's sends.
    ready,      ///< And the peer's accepts what this one sends.
    excluded,   ///< The connection does not use it, as long as it has another one.
  };

  virtual ~RecoverableLane() = default;
  bool is_ready() const noexcept { return state_ == State::ready; }

  // Each returns null, or the state that the queue pair refused; errno says why.
  /// Begins an epoch, whatever state the queue pair is in: nothing of earlier ones can arrive.
  virtual const char* reset(std::uint32_t epoch) noexcept = 0;
  /// Lets the queue pair receive and send.
  virtual const char* start() noexcept = 0;

  /// Whether notices can be sent.
  virtual bool has_control() const noexcept = 0;
  /// Sends a notice, which may be lost, to the peer's end; the lane adds the two queue pairs.
  virtual void send_notice(Notice notice) noexcept = 0;
  /// Asks the peer's liveness responder whether its process is there.
  virtual void ask_liveness(Notice notice) noexcept = 0;
  /// This process's liveness responder does not answer for the lane any more.
  virtual void stop_answering() noexcept = 0;

  /// Nothing has been sent and acknowledged on it in this epoch.
  virtual bool carried_nothing() const noexcept = 0;
  /// "mlx5_0:1".
  virtual std::string name() const = 0;

 protected:
  /// Something was sent and acknowledged.
  void note_success() noexcept { failures_ = 0; }

 private:
  friend class Recovery;
  State state_ = State::unconnected;
  std::uint32_t failures_ = 0;  // in a row, each before anything was acknowledged
  bool may_return_ = false;     // if excluded: for its failures, not because it was refused
};

/// The connection that a Recovery serves. Implemented by Connection.
class RecoverableConnection {
 public:
  /// What this end has received by now, in all.
  virtual Received received() const noexcept = 0;
  /// Whether both ends are about to end the connection.
  virtual bool is_ending() const noexcept = 0;
  /// Whether the peer has said that it will send nothing more.
  virtual bool is_closed_by_peer() const noexcept = 0;
  /// It has broken, runs again, or has failed for good.
  virtual void on_change() noexcept = 0;
  /// The rails, for an error's text.
  virtual std::string describe() const = 0;

 protected:
  ~RecoverableConnection() = default;
};

class Recovery;

/// The recoveries of all connections of an endpoint, and how many of these need attention.
class RecoveryGroup {
 public:
  /// `recovery_s`: how long a connection may be broken without a sign of life of the peer;
  /// `absence_ns`: how long at the most, 0: without limit.
  RecoveryGroup(int recovery_s, std::int64_t absence_ns) noexcept
      : recovery_s_(recovery_s), absence_ns_(absence_ns) {}
  RecoveryGroup(const RecoveryGroup&) = delete;
  RecoveryGroup& operator=(const RecoveryGroup&) = delete;

  /// To be called often: sends the notices that are due and ends what takes too long.
  void advance() noexcept {
    if (recovering_ != 0 || degraded_ != 0) advance_all();
  }
  /// Connections that are broken.
  std::size_t recovering() const noexcept { return recovering_; }
  /// Connections that were made anew.
  std::uint64_t reconnections() const noexcept { return reconnections_; }

 private:
  friend class Recovery;
  void advance_all() noexcept;

  int recovery_s_;
  std::int64_t absence_ns_;
  std::vector<Recovery*> members_;
  std::size_t recovering_ = 0;
  std::size_t degraded_ = 0;  // those that work, but not on all of their lanes
  std::uint64_t reconnections_ = 0;
};

/// Whether a new connection may do what failed with this status: not where the request itself was
/// wrong.
bool is_recoverable(ibv_wc_status status) noexcept;

/// The state of one connection from its first break to its end. Used by one thread at a time.
class Recovery {
 public:
  Recovery(RecoveryGroup& group, RecoverableConnection& connection);
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// The connection is up on these lanes, which live longer.
  void start(std::vector<RecoverableLane*> lanes) noexcept;

  /// Whether the lanes may be used.
  bool is_running() const noexcept { return phase_ == Phase::running && !has_failed(); }
  /// The connection is broken.
  bool is_recovering() const noexcept { return phase_ != Phase::running; }
  bool has_failed() const noexcept { return failure_[0] != '\0'; }
  /// Why it failed, in a few words; empty when it has not.
  const char* failure() const noexcept { return failure_; }

  /// A request on a lane has failed. Begins the next epoch, or fails where that is no use. Of
  /// several errors the first is the cause: the others are of an earlier epoch.
  void lane_failed(RecoverableLane& lane, const char* why, bool recoverable) noexcept;
  /// The other end of `lane` has sent a notice.
  void receive(RecoverableLane& lane, const Notice& notice) noexcept;
  /// Sends the notices that are due; fails when it takes too long, or when it is no use any more.
  void advance() noexcept;
  /// The connection has begun to end.
  void prepare_to_end() noexcept;
  /// The connection ends now: a peer that still tries to reconnect learns that it need not.
  void say_goodbye() noexcept;
  /// The number of the connection between the two ends: each recovery begins the next one.
  std::uint32_t epoch() const noexcept { return epoch_; }
  /// Ends the connection for good and tells the peer why.
  void fail(const char* why) noexcept;

 private:
  enum class Phase : std::uint8_t { running, reconnecting };
  using State = RecoverableLane::State;
  static constexpr std::size_t kMostFailure = 256;  // bytes of its text

  void set_phase(Phase phase) noexcept;
  void count_degraded() noexcept;
  void enter_epoch(std::uint32_t epoch) noexcept;
  bool start_lane(RecoverableLane& lane) noexcept;
  bool has_other_than(const RecoverableLane& lane) const noexcept;
  bool any_lane_left() noexcept;
  void extend_deadline() noexcept;
  bool has_timed_out(std::int64_t now) noexcept;
  void ask_liveness(std::int64_t now) noexcept;
  void end_exclusions() noexcept;
  void send_notice(RecoverableLane& lane, std::uint32_t flags) noexcept;
  void send_notices(std::uint32_t flags) noexcept;
  bool is_of_no_use() const noexcept;
  void fail_like_peer() noexcept;

  RecoveryGroup& group_;
  RecoverableConnection& connection_;
  std::vector<RecoverableLane*> lanes_;
  Phase phase_ = Phase::running;
  bool degraded_ = false;
  bool peer_failed_ = false;                         // the peer has given the connection up
  std::array<char, Notice::kReasonBytes> reason_{};  // why an end has: of the first that did
  std::uint32_t epoch_ = 0;        // number of the connection between the two ends
  Received received_;              // when the last epoch ended
  Received peer_received_;         // the same, by the peer
  std::uint32_t idle_epochs_ = 0;  // in a row in which nothing was received
  const char* cause_ = "";         // of the break
  std::int64_t deadline_ns_ = 0;
  std::int64_t broken_since_ns_ = 0;
  std::int64_t advanced_ns_ = 0;  // when this end last looked
  std::int64_t next_question_ns_ = 0;
  std::int64_t next_notice_ns_ = 0;
  std::int64_t exclusion_ends_ns_ = 0;
  std::array<char, kMostFailure> failure_text_{};
  const char* failure_ = "";
};

}  // namespace weft::verbs
