// A reliable connection as a wire.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/file.hpp"
#include "verbs/endpoint.hpp"
#include "verbs/rc_address.hpp"
#include "verbs/wire.hpp"

namespace weft::verbs {

/// One queue pair with its registered inbox and outbox. Made in two steps, because each end needs
/// the other's address: construct, exchange address(), connect().
class RcWire final : public Wire {
 public:
  explicit RcWire(Endpoint& endpoint);
  ~RcWire() override;
  RcWire(const RcWire&) = delete;
  RcWire& operator=(const RcWire&) = delete;

  /// For the peer's connect().
  std::string address() const;
  /// UsageError when the two devices cannot reach each other (software against hardware, InfiniBand
  /// against Ethernet), SystemError when the queue pair refuses.
  void connect(std::string_view peer_address);

  Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override;
  bool can_put() const noexcept override { return true; }
  bool needs_keys() const noexcept override { return true; }
  const Bounce* bounce_out() noexcept override { return bounce_half(0); }
  const Bounce* bounce_in() noexcept override { return bounce_half(1); }
  Status put(std::uint64_t remote, std::uint32_t remote_key, const std::byte* local,
             std::uint32_t local_key, std::size_t bytes) noexcept override;
  Status poll() noexcept override;
  Seen resume() noexcept override;
  const char* failure() const noexcept override { return failure_; }

  /// Asks for the completion of the next commit, whatever else is signalled.
  void signal_next() noexcept { signal_next_ = true; }
  /// All that was sent has been taken by the peer's device.
  bool is_drained() const noexcept { return posted_ == completed_; }

  /// How this end notices the peer's commits: each end has its own way.
  bool is_immediate() const noexcept { return immediate_; }

  /// Called by the endpoint: with a completion of this queue pair, with what the peer says of the
  /// connection, and often while some connection is in trouble.
  void complete(const ibv_wc& completion) noexcept;
  void hear(const Notice& notice) noexcept;
  void tend() noexcept;

  /// It was broken and its channel has not taken up the new connection yet.
  bool is_troubled() const noexcept { return phase_ != Phase::running; }

  /// Registered memory that one connection holds.
  static std::size_t memory_bytes();

 private:
  /// How far a broken connection has come. `resumable_` is set in the last step before running.
  enum class Phase : std::uint8_t {
    running,
    cut_off,    // nothing can arrive; the peer has not said the same yet
    connected,  // both have; the peer may not know it
    resumable,
  };

  void create_pair();
  bool post_receive() noexcept;
  void arrive(std::uint32_t immediate) noexcept;
  Status post(ibv_send_wr& request) noexcept;
  const Bounce* bounce_half(std::size_t half) noexcept;
  // Null, or the state that was refused; errno says why.
  const char* initialize() noexcept;
  const char* start() noexcept;
  bool modify(ibv_qp_attr& attributes, ibv_qp_state state, int mask) noexcept;
  std::uint64_t request(std::uint64_t number) const noexcept {
    return std::uint64_t{epoch_} << kNumberBits | number;
  }
  // rc_recovery.cpp
  void broke(ibv_wc_status status) noexcept;
  void cut_off(std::uint32_t epoch) noexcept;
  void set_phase(Phase phase) noexcept;
  void tell(std::uint32_t flags) noexcept;
  void give_up(const char* why) noexcept;
  void forget_control() noexcept;

  Endpoint& endpoint_;
  Mapping memory_;  // what the peer writes, outbox, and the inbox where that is not the first
  Registration registration_;
  Mapping bounce_memory_;  // out, then in; made when first needed
  Registration bounce_registration_;
  std::array<Bounce, 2> bounces_{};
  ibv_qp* pair_ = nullptr;
  bool immediate_ = false;  // commits come with a completion each
  RcAddress peer_;
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t depth_ = 0;
  std::uint64_t posted_ = 0;     // work requests
  std::uint64_t completed_ = 0;  // work requests known to be complete
  std::uint64_t signalled_ = 0;  // the last one that asks for a completion
  bool signal_next_ = false;
  struct PutMark {
    std::uint64_t request = 0;
    std::uint64_t put = 0;
  };
  PutMark last_put_;

  static constexpr unsigned kNumberBits = 40;  // of a work request, below its epoch
  Phase phase_ = Phase::running;
  std::uint32_t epoch_ = 0;      // counts connections between the two queue pairs
  Seen seen_;                    // when the last one was cut off
  Seen peer_seen_;               // likewise, by the peer
  std::uint32_t fruitless_ = 0;  // connections in a row that brought nothing
  std::uint32_t quiet_polls_ = 0;
  bool peer_gone_ = false;    // it has given the connection up
  const char* trouble_ = "";  // the completion error that broke it
  std::int64_t deadline_ns_ = 0;
  std::int64_t next_notice_ns_ = 0;
  ibv_ah* way_ = nullptr;  // to the peer's control path; made when first needed
  std::array<char, 192> failure_text_{};
  const char* failure_ = "";
};

}  // namespace weft::verbs
