// Probe target: the interface to an adapter that is measured, simulated or real.
#pragma once

#include <cstdint>
#include <string>

#include "nic_profiles/fit/estimate.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// Messages between two nodes. Sender i of one node sends to receiver i modulo `receivers` of the
/// other, over a connection of the two; when there are more receivers than senders, to each in
/// turn. `both_ways` adds the reverse at the same time.
struct Stream {
  int senders = 1;
  int receivers = 1;
  std::uint64_t bytes = 8;
  int messages = 1;  ///< of each sender, none of which waits for another
  bool both_ways = false;

  bool operator==(const Stream&) const = default;
};

/// The origin of the bytes that a core copies.
enum class Origin : std::uint8_t {
  written,  ///< a core of the node has written them lately: aggregation
  fresh,    ///< the adapter has written them lately: distribution
  memory,   ///< neither has: they are in no cache
};

/// Copies by `cores` at the same time, each of `bytes` that lie in `blocks` apart.
struct Copy {
  Origin origin = Origin::written;
  std::uint64_t bytes = 0;  ///< a core
  std::uint64_t blocks = 1;
  int cores = 1;
  std::uint64_t since_bytes = 0;  ///< the core has touched since: they push the bytes out of caches

  bool operator==(const Copy&) const = default;
};

/// The owner of the memory that a message goes into.
enum class Memory : std::uint8_t {
  librarys,  ///< buffers of the library for messages
  callers,   ///< a program's own buffers
};

/// The use of the cores while times were taken.
struct CoreUse {
  double seconds = 0;           ///< of measuring
  int cores = 0;                ///< of the node that was looked at; 0: nobody looked
  double others_s = 0;          ///< seconds of a core that programs besides the probe had
  double stolen_s = 0;          ///< likewise, that a hypervisor gave to other machines
  std::uint64_t preempted = 0;  ///< times that a rank with a core of its own lost it
  double load = 0;              ///< of the machine over a minute, before the probe began
};

/// Two nodes with ranks on both, on which times are taken. Each result is a time in a steady state:
/// a target on real hardware repeats until the interval is tight, within limits of its own. All
/// methods throw Error when the adapter fails.
class ProbeTarget {
 public:
  ProbeTarget() = default;
  ProbeTarget(const ProbeTarget&) = delete;
  ProbeTarget& operator=(const ProbeTarget&) = delete;
  virtual ~ProbeTarget() = default;

  /// The profile's name, description and device, and numbers that are declared, not measured:
  /// inline_bytes, in_order_placement, eager_bytes and receiver_first of the protocol, the cores of
  /// a host and the number of nodes on it. The rest of `hardware` is ignored.
  virtual Profile identity() const = 0;
  /// For the `source` of numbers: "probed on mlx5_0", "probed on the simulated qle7140".
  virtual std::string source() const = 0;
  /// Ranks on each of the two nodes.
  virtual int most_pairs() const = 0;
  /// Bytes of memory that one core may touch: the limit of Copy::since_bytes.
  virtual std::uint64_t most_touched_bytes() const = 0;
  /// The use of the cores by all measurements so far.
  virtual CoreUse core_use() const { return {}; }
  /// From now on each time is taken twice only: a glance, where there is no time for more.
  virtual void hurry() {}

  /// Half a round trip of a message, sent and answered by one rank on each node.
  virtual Estimate latency(std::uint64_t bytes) = 0;
  /// The time of the messages of a stream in a steady state, after others have gone before them.
  virtual Estimate steady(const Stream& stream) = 0;
  /// The time that a send keeps its core while the adapter is idle. The send is a write to a known
  /// address, without rendezvous.
  virtual Estimate send_busy(std::uint64_t bytes, Memory into) = 0;
  /// From the start to the end of the last core's copy.
  virtual Estimate copy(const Copy& copy) = 0;
  /// From a signal to the end of the wait of another rank of the node. With two pairs or more.
  virtual Estimate signal() = 0;
  /// The same when both share a core; 0: the target cannot make them share one.
  virtual Estimate turn() = 0;
  /// A copy from a neighbour's private memory, written lately; 0: ranks may not read it. With two
  /// pairs or more.
  virtual Estimate call(std::uint64_t bytes) = 0;
  /// One core, both operands written lately.
  virtual Estimate reduce(std::uint64_t bytes) = 0;
  /// Registers `bytes` of memory that was never registered before.
  virtual Estimate registration(std::uint64_t bytes) = 0;
};

}  // namespace weft::nic_profiles
