// What a probe can ask of an adapter, simulated or real.
#pragma once

#include <cstdint>
#include <string>

#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// Messages between two nodes. Sender i of one node sends to receiver i modulo `receivers` of the
/// other, over a connection of the two; where there are more receivers than senders, to each in
/// turn. Both ways: and the reverse at the same time.
struct Stream {
  int senders = 1;
  int receivers = 1;
  std::uint64_t bytes = 8;
  int messages = 1;  ///< of each sender, none of which waits for another
  bool both_ways = false;

  bool operator==(const Stream&) const = default;
};

/// Where the bytes come from that a core copies.
enum class Origin : std::uint8_t {
  written,  ///< a core of the node has written them lately: aggregation
  fresh,    ///< the adapter has written them lately: distribution
  memory,   ///< nobody has: they are in memory alone
};

/// Copies by `cores` at the same time, each of `bytes` that lie in `blocks` apart.
struct Copy {
  Origin origin = Origin::written;
  std::uint64_t bytes = 0;  ///< a core
  std::uint64_t blocks = 1;
  int cores = 1;
  std::uint64_t since_bytes = 0;  ///< what the core has touched since: it pushes out the caches

  bool operator==(const Copy&) const = default;
};

/// Whose memory a message goes into.
enum class Memory : std::uint8_t {
  librarys,  ///< what the library sets up for messages
  callers,   ///< what a program has of its own
};

/// Two nodes with ranks on both, that take times. Each answer is one steady-state time in
/// nanoseconds: a target on real hardware repeats and takes a median. All methods throw Error when
/// the adapter fails.
class ProbeTarget {
 public:
  ProbeTarget() = default;
  ProbeTarget(const ProbeTarget&) = delete;
  ProbeTarget& operator=(const ProbeTarget&) = delete;
  virtual ~ProbeTarget() = default;

  /// The profile's name, description, device and what the device promises of itself: inline_bytes,
  /// in_order_placement, eager_bytes and receiver_first of the protocol on it; and its hosts'
  /// cores, and whether both nodes stand on one. The rest of `hardware` is not looked at.
  virtual Profile identity() const = 0;
  /// For the `source` of numbers: "probed on mlx5_0", "probed on the simulated qle7140".
  virtual std::string source() const = 0;
  /// Ranks on each of the two nodes.
  virtual int most_pairs() const = 0;
  /// How much memory one core may touch: Copy::since_bytes is no more.
  virtual std::uint64_t most_touched_bytes() const = 0;

  /// Half a round trip of a message, sent and answered by one rank on each node.
  virtual double latency_ns(std::uint64_t bytes) = 0;
  /// How long the messages of a stream take in a steady state, when others have gone before them.
  virtual double steady_ns(const Stream& stream) = 0;
  /// How long a send keeps its core, while the adapter is idle. Of a write to where the receiver
  /// has said before: no rendezvous.
  virtual double send_busy_ns(std::uint64_t bytes, Memory into) = 0;
  /// From the start to the end of the last core's copy.
  virtual double copy_ns(const Copy& copy) = 0;
  /// From a signal to the end of the wait of another rank of the node. With two pairs or more.
  virtual double signal_ns() = 0;
  /// The same where both share a core; 0: they cannot be made to.
  virtual double turn_ns() = 0;
  /// A copy of what a neighbour has in memory of its own, written lately; 0: no rank may. With two
  /// pairs or more.
  virtual double call_ns(std::uint64_t bytes) = 0;
  /// One core, both operands written lately.
  virtual double reduce_ns(std::uint64_t bytes) = 0;
  /// Registers memory of `bytes` that never was.
  virtual double register_ns(std::uint64_t bytes) = 0;
};

}  // namespace weft::nic_profiles
