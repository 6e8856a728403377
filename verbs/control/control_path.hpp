// Control path: datagrams between endpoints. They get through when a reliable connection does not,
// but each may be lost, duplicated or late.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file.hpp"
#include "verbs/device/library.hpp"

namespace weft::verbs {

/// Notice: a datagram from one end of a broken connection to the other, or to the other's liveness
/// responder.
struct Notice {
  static constexpr std::uint32_t kMagic = 0x77667434;
  /// Of a reason, with the 0 at its end.
  static constexpr std::size_t kReasonBytes = 56;
  enum Flag : std::uint32_t {
    kConnected = 1,  ///< The sender's queue pair accepts what the receiver's sends.
    kReady = 2,      ///< The sender knows that the receiver's queue pair is connected, too.
    kFailed = 4,     ///< The sender has given this connection up.
    kAlive = 8,      ///< To a LivenessResponder: a question. From it: its process lives.
    kWhere = 16,     ///< The same about where a rank is: `reason` has the question, or the answer.
  };

  std::uint32_t magic = kMagic;
  std::uint32_t to = 0;    // queue pair of the connection at the receiver
  std::uint32_t from = 0;  // and at the sender
  std::uint32_t epoch = 0;
  std::uint32_t flags = 0;
  std::uint32_t slots = 0;  // received by the sender before this epoch: verbs::Received
  std::uint64_t windows = 0;
  std::uint64_t token = 0;  // that of the receiver's control path or responder: see ControlPath
  std::array<char, kReasonBytes> reason{};  // with kFailed: why; cut where it is long. With kWhere:
                                            // of a form that only those who ask and answer know
};

/// What a peer must know to send notices to a control path. All of it is told in the set-up of a
/// connection; the key and the token are random.
struct ControlAddress {
  std::uint32_t pair = 0;  // queue pair; 0: none
  std::uint32_t key = 0;   // its Q_Key
  std::uint64_t token = 0;
  bool operator==(const ControlAddress&) const = default;
};

/// Of a datagram's bytes, without its route header. False when they are no notice, or it has
/// another token: it may come from anybody on the fabric.
bool decode_notice(std::span<const std::byte> datagram, std::uint64_t token,
                   Notice& notice) noexcept;

/// An unreliable datagram (UD) queue pair and the memory of its datagrams. Its completions, with
/// its number(), go to the completion queue of `port`. What arrives without its Q_Key and its token
/// is dropped.
class ControlPath {
 public:
  struct Port {
    ibv_pd* domain = nullptr;
    ibv_cq* queue = nullptr;
    std::uint8_t number = 1;
    std::uint16_t partition_index = 0;
  };
  /// The most that may be in the completion queue at a time, those of an earlier start included.
  static constexpr int kCompletions = 160;
  /// SystemError names the call that failed.
  ControlPath(const Library& library, const Port& port);
  ControlPath(const ControlPath&) = delete;
  ControlPath& operator=(const ControlPath&) = delete;
  ~ControlPath();

  std::uint32_t number() const noexcept { return pair_->qp_num; }
  ControlAddress address() const noexcept { return {number(), key_, token_}; }

  /// Null when the address is refused.
  ibv_ah* create_address(ibv_ah_attr attributes) const noexcept;
  void destroy_address(ibv_ah* address) const noexcept { library_.destroy_ah(address); }

  /// Sends to the control path or liveness responder `to`, with its token. The notice may be lost,
  /// here or on the way.
  void send(ibv_ah* route, const ControlAddress& to, Notice notice) noexcept;
  /// Some notice has not left yet. Its address must not be destroyed, nor the path, or it is lost.
  bool is_sending() const noexcept { return sends_ != 0; }
  /// Handles a completion of this queue pair; true when a datagram arrived, which is in `notice`.
  bool complete(const ibv_wc& completion, Notice& notice) noexcept;

 private:
  const char* start() noexcept;
  bool post_receive(std::size_t number) noexcept;
  std::byte* slot(std::size_t number) const noexcept;
  void close() noexcept;

  const Library& library_;
  Port port_;
  Mapping memory_;  // receives, then sends
  ibv_mr* region_ = nullptr;
  ibv_qp* pair_ = nullptr;
  std::uint32_t key_;
  std::uint64_t token_;
  std::uint64_t generation_ = 0;  // counts the starts of the queue pair; an error needs another one
  std::uint32_t sends_ = 0;       // bit i: send slot i is in use
};

}  // namespace weft::verbs
