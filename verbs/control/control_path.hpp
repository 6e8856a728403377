// Datagrams between endpoints: they get through when a reliable connection does not, though any of
// them may be lost, come twice or come late.
#pragma once

#include <cstdint>

#include "base/file.hpp"
#include "verbs/channel/wire.hpp"
#include "verbs/device/library.hpp"

namespace weft::verbs {

/// What one end of a connection that is being made anew tells the other.
struct Notice {
  static constexpr std::uint32_t kMagic = 0x77667431;
  enum Flag : std::uint32_t {
    kConnected = 1,  ///< My queue pair takes what yours sends.
    kKnows = 2,      ///< I know that yours does.
    kGone = 4,       ///< I have given this connection up.
    kAlive = 8,      ///< To a Presence: are you there? From it: I am, whatever I may be doing.
  };

  std::uint32_t magic = kMagic;
  std::uint32_t to = 0;    // queue pair of the connection at the receiver
  std::uint32_t from = 0;  // and at the sender
  std::uint32_t epoch = 0;
  std::uint32_t flags = 0;
  std::uint32_t slots = 0;  // Seen by the sender when its old connection was cut off
  std::uint64_t windows = 0;
};

/// An unreliable queue pair with the memory of its datagrams. Its completions come to the queue
/// that it is given, with its number().
class ControlPath {
 public:
  struct Port {
    ibv_pd* domain = nullptr;
    ibv_cq* queue = nullptr;
    std::uint8_t number = 1;
    std::uint16_t partition_index = 0;
  };
  /// SystemError names the call that failed.
  ControlPath(const Library& library, const Port& port);
  ControlPath(const ControlPath&) = delete;
  ControlPath& operator=(const ControlPath&) = delete;
  ~ControlPath();

  std::uint32_t number() const noexcept { return pair_->qp_num; }

  /// Null when the address is refused; destroyed by forget().
  ibv_ah* find(ibv_ah_attr address) const noexcept;
  void forget(ibv_ah* way) const noexcept { library_.destroy_ah(way); }

  /// May be lost, here or on the way.
  void send(ibv_ah* way, std::uint32_t control, const Notice& notice) noexcept;
  /// Takes a completion of its queue pair; true when `notice` has come by it.
  bool complete(const ibv_wc& completion, Notice& notice) noexcept;

 private:
  const char* start() noexcept;
  bool post_receive(std::size_t slot) noexcept;
  std::byte* slot(std::size_t number) const noexcept;
  void close() noexcept;

  const Library& library_;
  Port port_;
  Mapping memory_;  // receives, then sends
  ibv_mr* region_ = nullptr;
  ibv_qp* pair_ = nullptr;
  std::uint64_t life_ = 0;   // of the queue pair, which an error ends
  std::uint32_t sends_ = 0;  // bit i: slot i is on its way out
};

}  // namespace weft::verbs
