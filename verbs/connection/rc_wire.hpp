// Reliable connection: a wire over one rail or several.
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

/// Has a lane on each rail of the endpoint, connected to the peer's lane of the same number, and
/// inbox and outbox registered with all rails. Commits take one lane, the nearest that is ready;
/// puts are spread over all that are, in even shares. Made in two steps, because each end needs the
/// other's address: construct, exchange address(), connect().
///
/// When a lane fails the whole connection is made anew (verbs/recovery), on the lanes on which the
/// ends still receive each other's notices. So a lost rail is an ordinary break, after which there
/// is one lane less; a lane whose rail works again joins later.
class RcWire final : public Wire, private RecoverableConnection {
 public:
  explicit RcWire(Endpoint& endpoint);
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
  std::size_t lanes_in_use() const noexcept override;
  bool needs_keys() const noexcept override { return true; }
  RemoteKeys remote_keys(std::uint32_t key) const noexcept override {
    return endpoint_.region(key).rkeys;
  }
  const Bounce* bounce_out() noexcept override { return bounce_half(0); }
  const Bounce* bounce_in() noexcept override { return bounce_half(1); }
  Status poll() noexcept override;
  Received resume() noexcept override;
  const char* failure() const noexcept override { return recovery_.failure(); }

  /// Asks for the completion of the next commit, whatever else is signalled.
  void signal_next() noexcept { lanes_[commits_]->signal_next(); }
  /// All that was sent has been acknowledged.
  bool is_drained() const noexcept;

  /// True if each of the peer's commits has a completion; the other end may differ.
  bool is_immediate() const noexcept { return immediate_; }
  /// Commits of at most so many bytes are handed to the adapter with the request itself.
  std::uint32_t inline_bytes() const noexcept { return lanes_[commits_]->inline_bytes(); }
  /// The number of its queue pairs.
  std::size_t lanes() const noexcept { return lanes_.size(); }

  /// Called by rails with a completion of a lane's queue pair.
  void complete(RcLane& lane, const ibv_wc& completion) noexcept;
  /// Called by rails with a notice of the peer.
  void receive(RcLane& lane, const Notice& notice) noexcept {
    if (lane.is_from_peer(notice)) recovery_.receive(lane, notice);
  }

  /// True from a break until its channel has resumed.
  bool is_recovering() const noexcept { return recovery_.is_recovering(); }

  /// Registered memory of a new connection.
  static std::size_t memory_bytes();
  /// Registered memory now, with the bounce memory if there is any.
  std::size_t held_bytes() const noexcept { return memory_.size() + bounce_memory_.size(); }

 private:
  Received received() const noexcept override;
  bool is_closed_by_peer() const noexcept override;
  void set_resumable(bool resumable) noexcept override { resumable_ = resumable; }
  std::string describe() const override { return endpoint_.describe(); }

  void arrive(RcLane& lane, std::uint32_t immediate) noexcept;
  /// The status of a request that cannot be posted now.
  Status not_now() const noexcept {
    return recovery_.has_failed() ? Status::failed : Status::again;
  }
  Status post(RcLane& lane, ibv_send_wr& request) noexcept;
  RcLane* least_used(const RemoteKeys& keys, std::uint32_t local_key) const noexcept;
  void choose_commit_lane() noexcept;
  const Bounce* bounce_half(std::size_t half) noexcept;

  Endpoint& endpoint_;
  Mapping memory_;  // inbox, outbox
  Registration registration_;
  Mapping bounce_memory_;  // out, then in; made when first needed
  Registration bounce_registration_;
  std::array<Bounce, 2> bounces_{};
  std::vector<std::unique_ptr<RcLane>> lanes_;
  std::vector<std::size_t> order_;  // of the lanes, the nearest first
  std::size_t commits_ = 0;         // the lane that commits take
  bool immediate_ = false;          // the peer's commits come with a completion each
  AnnouncedWords announced_;        // if so
  std::uint32_t quiet_polls_ = 0;
  Recovery recovery_;  // last: ends before the lanes do
};

}  // namespace weft::verbs
