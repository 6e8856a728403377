// Hardware model of a cluster: adapters, the memory of nodes, the fabric between them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace weft::sim {

// Times are nanoseconds, sizes bytes, rates bytes per nanosecond (the same number as GB/s).

/// How the total rate of one adapter changes with the number of local cores that send through it
/// at once. Linear between the points, constant beyond the last.
struct Scaling {
  struct Point {
    int senders = 1;
    double total = 1.0;  ///< relative to one sender
  };
  std::vector<Point> points = {{1, 1.0}};  ///< ascending by senders, the first is {1, 1.0}

  double at(int senders) const noexcept;
};

/// One adapter, and its costs for cores.
struct Adapter {
  static constexpr std::uint64_t kAllSizes = std::numeric_limits<std::uint64_t>::max();

  // The cores.
  double post_ns = 0;           ///< of the sending core, a message
  double poll_ns = 0;           ///< of the receiving core, a message; of the sending one, half
  std::uint64_t pio_bytes = 0;  ///< messages up to here are stored into the adapter by the sending
                                ///< core, which is busy meanwhile; kAllSizes: all of them
  double pio_bytes_per_ns = 1;  ///< of one core
  double match_ns = 0;  ///< of the receiving core, a message: for each recv that it is compared
                        ///< with before its own is found, half of those that wait for other peers
  double dma_start_ns = 0;  ///< from the doorbell to the first byte, of messages above pio_bytes

  // The adapter.
  double message_gap_ns = 0;          ///< between any two messages that it sends
  double queue_gap_ns = 0;            ///< between two messages of one queue pair
  double queue_bytes_per_ns = 0;      ///< the most that one sender reaches; 0: bytes_per_ns
  double bytes_per_ns = 1;            ///< the most in one direction
  double both_ways_bytes_per_ns = 0;  ///< the most in both together; 0: twice bytes_per_ns
  Scaling senders;                    ///< of what crosses it, by the cores that send
  double latency_ns = 0;              ///< from the last byte sent to the message seen, no switch

  // The protocol.
  std::uint64_t eager_bytes = 0;  ///< above, a message goes straight into place, once its receiver
                                  ///< is ready
  bool receiver_first = false;    ///< the receiver announces that; else the sender asks
  double take_bytes_per_ns = 0;  ///< of the receiving core, which takes a message up to eager_bytes
                                 ///< to its place; 0: no time
  double into_caller_ns = 0;     ///< of the sending core, more for each block that goes straight
                                 ///< into the receiver's input or output
  double into_caller_bytes_per_ns = 0;  ///< of one core that stores there; 0: pio_bytes_per_ns
  std::uint64_t inline_bytes = 0;
  bool in_order_placement = false;
  double register_ns = 0;           ///< a registration
  double register_ns_per_byte = 0;  ///< of memory registered
};

/// The inside of a node.
struct Node {
  double copy_start_ns = 0;         ///< of a copy, and of each further block of a strided one
  double cached_bytes_per_ns = 10;  ///< of one core: copies of what a local core wrote lately
  double memory_bytes_per_ns = 5;   ///< of one core: copies from memory
  double fresh_bytes_per_ns = 5;    ///< of one core: copies of what the adapter has just written
  std::uint64_t cache_bytes = 1 << 20;  ///< shared by the cores of a node; more goes to memory
  double total_bytes_per_ns = 20;       ///< all cores together, to memory; 0: no limit
  double signal_ns = 0;                 ///< from a signal to the end of the wait for it
  double reduce_bytes_per_ns = 5;       ///< of one core, of one operand
  double call_ns = 0;  ///< of a system call that copies from or to a neighbour's own memory;
                       ///< 0: neighbours' memory is copied like a rank's own
  double call_bytes_per_ns = 0;  ///< of such a copy; 0: as of others
};

/// A host of nodes: several where these are virtual, else one.
struct Host {
  int cores = 0;         ///< dealt to the ranks of all its nodes in turn; 0: one for each rank
  int nodes = 1;         ///< on it
  double switch_ns = 0;  ///< of a core: from one rank's turn to another's
};

/// A fat tree of two levels with fixed routes, or a crossbar.
struct Fabric {
  double hop_ns = 0;             ///< a switch
  double link_bytes_per_ns = 0;  ///< of each link; 0: the adapter's
  int nodes_per_leaf = 0;        ///< 0: one switch joins all nodes
  int uplinks_per_leaf = 0;  ///< fewer than nodes_per_leaf: tapered; route: destination modulo it
  /// Bytes that may wait before a link. With more, the link behind it stops, and with it traffic to
  /// other destinations, too.
  std::uint64_t buffer_bytes = 16384;
};

struct Hardware {
  Adapter adapter;
  Node node;
  Fabric fabric;
  Host host;
  int rails = 1;  ///< adapters of a node; rank at place p uses rail p modulo rails
};

}  // namespace weft::sim
