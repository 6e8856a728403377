// A reliable connection as a wire.
#pragma once

#include <string>
#include <string_view>

#include "base/file.hpp"
#include "verbs/endpoint.hpp"
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
  Status put(std::uint64_t remote, std::uint32_t remote_key, const std::byte* local,
             std::uint32_t local_key, std::size_t bytes) noexcept override;
  Status poll() noexcept override;
  const char* failure() const noexcept override { return failure_; }

  /// Asks for the completion of the next commit, whatever else is signalled.
  void signal_next() noexcept { signal_next_ = true; }
  /// All that was sent has been taken by the peer's device.
  bool is_drained() const noexcept { return posted_ == completed_; }

  /// Called by the endpoint with a completion of this queue pair.
  void complete(const ibv_wc& completion) noexcept;

  /// Registered memory that one connection holds.
  static std::size_t memory_bytes();

 private:
  Status post(ibv_send_wr& request) noexcept;
  void modify(ibv_qp_attr& attributes, int mask, const char* state);

  Endpoint& endpoint_;
  Mapping memory_;  // inbox, then outbox
  Registration registration_;
  ibv_qp* pair_ = nullptr;
  std::uint64_t remote_inbox_ = 0;
  std::uint32_t remote_key_ = 0;
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
  const char* failure_ = "";
};

}  // namespace weft::verbs
