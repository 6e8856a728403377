// Wire over a reliable connection.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "verbs/channel/wire.hpp"
#include "verbs/connection/connection.hpp"

namespace weft::verbs {

/// Has an inbox and an outbox, registered with all rails, and writes into the peer's inbox by the
/// queue pairs of a connection, which other wires may share. Made in two steps, because each end
/// needs the other's address: construct, exchange address(), connect(). Used by one thread at a
/// time; what several wires share it uses under the endpoint's guard.
///
/// When the connection has broken and runs in a new epoch, each end of a wire writes into the
/// peer's mailbox, under the number of the epoch, what it had received (tell()); the connection
/// sees to that. A wire posts nothing else in an epoch before it has the peer's (resume()).
/// Requests are counted by epoch, so a count of one is never compared with that of another.
class RcWire final : public Wire {
 public:
  /// Over a connection of its own.
  explicit RcWire(Endpoint& endpoint);
  /// Over one that it shares and that lives longer: the peer may write into the inbox until the
  /// connection ends.
  explicit RcWire(Connection& connection);
  RcWire(const RcWire&) = delete;
  RcWire& operator=(const RcWire&) = delete;
  ~RcWire() override;

  /// For the peer's connect().
  std::string address() const;
  /// What Connection::connect() throws, where the connection is the wire's own. One that is shared
  /// is connected before.
  void connect(std::string_view peer_address);

  Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override;
  bool joins_commits() const noexcept override { return joins_commits_; }
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
  void call_caretaker() noexcept override {
    const auto guard = endpoint_.guard();
    connection_.ask_liveness();
  }
  Status poll() noexcept override;
  bool resume(Received& peer) noexcept override;
  const char* failure() const noexcept override { return connection_.failure(); }
  LinkState link_state() const noexcept override {
    const auto guard = endpoint_.guard();
    return connection_.link_state();
  }

  /// Asks for the completion of every commit until the end of this use, also of those that are made
  /// again after a break: so is_drained() comes true.
  void signal_from_now_on() noexcept { signals_ = true; }
  /// All that it sent has been acknowledged.
  bool is_drained() const noexcept;
  /// True from a break until its channel has resumed.
  bool is_recovering() const noexcept {
    return is_connected_ && !connection_.has_failed() &&
           (epoch_ != connection_.epoch() || !connection_.is_running());
  }
  /// Under the guard: whether a communicator uses it; at the beginning one does.
  void set_in_use(bool in_use) noexcept;
  bool is_in_use() const noexcept { return in_use_; }

  bool is_immediate() const noexcept { return connection_.is_immediate(); }
  /// Commits of at most so many bytes are handed to the adapter with the request itself.
  std::uint32_t inline_bytes() const noexcept;
  /// Its numbers among the connection's wires at this end and at the peer's.
  std::uint32_t number() const noexcept { return number_; }
  std::uint32_t peer_number() const noexcept { return peer_number_; }
  std::size_t lanes() const noexcept { return connection_.lanes(); }
  /// Bytes that were posted on each lane.
  const std::array<std::uint64_t, kMaxRails>& sent_bytes() const noexcept { return sent_bytes_; }

  /// Registered memory of a new wire.
  static std::size_t memory_bytes() { return InboxPool::block_bytes(); }
  /// Registered memory now, with the bounce memory if there is any.
  std::size_t held_bytes() const noexcept { return memory_bytes() + bounce_memory_.size(); }

 private:
  friend class Connection;
  explicit RcWire(std::unique_ptr<Connection>&& own);
  RcWire(Connection& connection, std::unique_ptr<Connection>&& own);

  // For the connection, under the guard:
  Received received() const noexcept;
  Status tell() noexcept;
  bool announce(std::size_t offset, std::size_t bytes) noexcept {
    return announced_ != nullptr && announced_->update(inbox_, offset, bytes);
  }
  void update_troubled() noexcept;

  bool may_send() const noexcept {
    return is_connected_ && connection_.is_running() && epoch_ == connection_.epoch();
  }
  bool can_resume() const noexcept;
  bool puts_are_done() const noexcept;
  Status write(RcLane& lane, std::size_t offset, std::size_t bytes, bool signal) noexcept;
  const Bounce* bounce_half(std::size_t half) noexcept;

  std::unique_ptr<Connection> own_;
  Connection& connection_;
  Endpoint& endpoint_;
  InboxPool::Block memory_;                    // inbox, outbox
  std::unique_ptr<AnnouncedWords> announced_;  // where commits come with a completion each
  std::uint32_t number_ = 0;                   // of the connection's wires at this end

  // Of the peer:
  bool is_connected_ = false;
  bool joins_commits_ = false;
  std::uint32_t peer_number_ = 0;
  std::uint64_t peer_inbox_ = 0;
  RemoteKeys peer_keys_{};

  std::uint32_t epoch_ = 0;  // in which it may send
  std::uint32_t told_ = 0;   // the last in which it has told what it had received
  bool in_use_ = true;
  bool troubled_ = false;  // counted as such by the endpoint
  bool signals_ = false;
  std::array<std::uint64_t, kMaxRails> last_post_{};  // by lane: number of the last request
  std::array<std::uint64_t, kMaxRails> last_put_{};
  std::array<std::uint64_t, kMaxRails> sent_bytes_{};
  std::uint32_t quiet_polls_ = 0;

  Mapping bounce_memory_;  // out, then in; made when first needed
  Registration bounce_registration_;
  std::array<Bounce, 2> bounces_{};
};

}  // namespace weft::verbs
