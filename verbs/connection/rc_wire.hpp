// A reliable connection as a wire, over one rail or several.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "verbs/channel/wire.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_lane.hpp"

namespace weft::verbs {

/// A lane on each rail of the endpoint, joined to the peer's lane of the same number, and inbox and
/// outbox registered with all rails. Commits take one lane, the nearest that works; puts are spread
/// over all that work, in even shares. Made in two steps, because each end needs the other's
/// address: construct, exchange address(), connect().
///
/// When a lane breaks the whole connection is made anew (rc_recovery.cpp), on the lanes over which
/// the ends can still hear each other. So a lost rail is an ordinary break, after which there is
/// one lane less; a lane that can be heard again joins in later.
class RcWire final : public Wire {
 public:
  explicit RcWire(Endpoint& endpoint);
  ~RcWire() override;
  RcWire(const RcWire&) = delete;
  RcWire& operator=(const RcWire&) = delete;

  /// For the peer's connect().
  std::string address() const;
  /// UsageError when the two ends' ports cannot reach each other (software against hardware,
  /// InfiniBand against Ethernet), SystemError when a queue pair refuses. Where one end has more
  /// rails these are not used.
  void connect(std::string_view peer_address);

  Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override;
  bool joins_commits() const noexcept override;
  bool can_put() const noexcept override { return true; }
  Status put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
             std::uint32_t local_key, std::size_t bytes) noexcept override;
  bool lands_in_order() const noexcept override;
  std::size_t ways() const noexcept override;
  bool needs_keys() const noexcept override { return true; }
  RemoteKeys remote_keys(std::uint32_t key) const noexcept override {
    return endpoint_.region(key).rkeys;
  }
  const Bounce* bounce_out() noexcept override { return bounce_half(0); }
  const Bounce* bounce_in() noexcept override { return bounce_half(1); }
  Status poll() noexcept override;
  Seen resume() noexcept override;
  const char* failure() const noexcept override { return failure_; }

  /// Asks for the completion of the next commit, whatever else is signalled.
  void signal_next() noexcept { lanes_[commits_]->signal_next(); }
  /// All that was sent has been taken by the peer's devices.
  bool is_drained() const noexcept;

  /// How this end notices the peer's commits: each end has its own way.
  bool is_immediate() const noexcept { return immediate_; }
  /// Commits of at most so many bytes are handed to the adapter with the request itself.
  std::uint32_t inline_bytes() const noexcept { return lanes_[commits_]->inline_bytes(); }
  /// Queue pairs that it has.
  std::size_t lanes() const noexcept { return lanes_.size(); }

  /// Called by rails: with a completion of a lane's queue pair, and with what the peer says of the
  /// connection.
  void complete(RcLane& lane, const ibv_wc& completion) noexcept;
  void hear(RcLane& lane, const Notice& notice) noexcept;
  /// Called often by the endpoint while some connection is in trouble or lacks a lane.
  void tend() noexcept;

  /// It was broken and its channel has not taken up the new connection yet.
  bool is_troubled() const noexcept { return phase_ != Phase::running; }

  /// Registered memory that a connection has from the beginning: what it allocates.
  static std::size_t memory_bytes();
  /// That and the bounce memory, where that was needed.
  std::size_t held_bytes() const noexcept { return memory_.size() + bounce_memory_.size(); }

 private:
  /// How far a broken connection has come. `resumable_` is set in the last step before running.
  enum class Phase : std::uint8_t { running, cut_off, resumable };

  bool is_sound() const noexcept { return phase_ == Phase::running && failure_[0] == '\0'; }
  void arrive(RcLane& lane, std::uint32_t immediate) noexcept;
  Status post(RcLane& lane, ibv_send_wr& request) noexcept;
  RcLane* least_used(const RemoteKeys& keys, std::uint32_t local_key) const noexcept;
  void choose_commit_lane() noexcept;
  const Bounce* bounce_half(std::size_t half) noexcept;
  // rc_recovery.cpp
  void broke(RcLane& lane, ibv_wc_status status) noexcept;
  void broke(RcLane& lane, const char* what, bool mendable) noexcept;
  void cut_off(std::uint32_t epoch) noexcept;
  bool bring_up(RcLane& lane) noexcept;
  bool any_lane_left() const noexcept;
  void set_phase(Phase phase) noexcept;
  void count_limping() noexcept;
  void tell(RcLane& lane, std::uint32_t flags) noexcept;
  void tell_all(std::uint32_t flags) noexcept;
  void give_up(const char* why) noexcept;
  void wait_on() noexcept;
  bool is_over(std::int64_t now) noexcept;
  void ask_for_life(std::int64_t now) noexcept;

  Endpoint& endpoint_;
  Mapping memory_;  // inbox, outbox
  Registration registration_;
  Mapping bounce_memory_;  // out, then in; made when first needed
  Registration bounce_registration_;
  std::array<Bounce, 2> bounces_{};
  std::vector<std::unique_ptr<RcLane>> lanes_;
  std::vector<std::size_t> order_;  // of the lanes, the nearest first
  std::size_t commits_ = 0;         // the lane that they take
  bool immediate_ = false;          // commits come with a completion each
  Heard heard_;                     // of the inbox, then

  Phase phase_ = Phase::running;
  bool limping_ = false;
  std::uint32_t epoch_ = 0;      // counts connections between the two ends
  Seen seen_;                    // when the last one was cut off
  Seen peer_seen_;               // likewise, by the peer
  std::uint32_t fruitless_ = 0;  // connections in a row that brought nothing
  std::uint32_t quiet_polls_ = 0;
  bool peer_gone_ = false;    // it has given the connection up
  const char* trouble_ = "";  // what broke it
  std::int64_t deadline_ns_ = 0;
  std::int64_t broken_since_ns_ = 0;
  std::int64_t tended_ns_ = 0;    // when this end last looked
  std::int64_t next_ask_ns_ = 0;  // for a sign of life
  std::int64_t next_notice_ns_ = 0;
  std::array<char, 256> failure_text_{};
  const char* failure_ = "";
};

}  // namespace weft::verbs
