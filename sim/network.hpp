// Network model: the times at which adapters and links carry pieces of messages.
#pragma once

#include <cstdint>
#include <vector>

#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "sim/units.hpp"

namespace weft::sim {

/// A piece of a message under way.
struct Piece {
  int from_node = 0;
  int to_node = 0;
  int rail = 0;
  std::uint64_t bytes = 0;
  bool is_first = true;    // of its message
  bool is_whole = false;   // the only one of its message
  bool is_stored = false;  // by the core, which has just finished; else the adapter fetches it
  Time ready = 0;          // when the core began to store it; now where the adapter fetches it
};

struct Passage {
  Time sent = 0;     // end of its time at the sending adapter
  Time arrived = 0;  // its last byte is at the other adapter, `latency_ns` included
};

/// Times are reserved in the order of calls. Senders ask when their adapter is free, so that each
/// link is asked for in about the order in which messages reach it.
class Network {
 public:
  /// The arguments must live longer.
  Network(const hierarchy::Machine& machine, const Hardware& hardware);

  int adapter_of(int node, int rail) const { return node * rails_ + rail; }
  int adapters() const { return static_cast<int>(adapters_.size()); }
  int rail_of(int rank) const { return machine_.place_of(rank) % rails_; }
  /// When the adapter can begin the next piece.
  Time free_at(int adapter) const { return adapters_[adapter].out.free_at; }

  /// `senders` local cores send through the adapter now.
  Passage send(const Piece& piece, int senders, Time now);
  /// The last byte of a piece has arrived at the receiving adapter. Returns when it is in memory.
  Time land(const Piece& piece, int senders, Time now);
  /// A core reads `bytes` from memory, not from its cache. Returns the end.
  Time use_memory(int node, std::uint64_t bytes, Time now);

  /// Of a message without data, which occupies no link.
  Time latency(int from_node, int to_node) const;
  /// Of a message of `bytes` from start to end on an idle network.
  Time wire_time(std::uint64_t bytes) const;
  Rate sender_rate() const { return sender_; }

 private:
  struct Adapter {
    Server out;
    Server in;
    Server both;  // traffic in both directions
    Time next_message_at = 0;
  };
  /// By the number of senders.
  struct Speed {
    Rate out;
    Rate both;
    Time gap = 0;
  };
  struct Hop {
    Server* server = nullptr;
    Rate rate;
  };

  const Speed& speed(int senders) const;
  int leaf_of(int node) const { return per_leaf_ == 0 ? 0 : node / per_leaf_; }
  /// Fills in the links after the sending adapter. Returns their number.
  int route(const Piece& piece, Hop (&hops)[3]);

  const hierarchy::Machine& machine_;
  const int rails_;
  const int per_leaf_;
  const int uplinks_;
  std::vector<Speed> speeds_;
  std::vector<Adapter> adapters_;
  std::vector<Server> up_;      // by rail, leaf, uplink
  std::vector<Server> down_;    // by rail, leaf, uplink
  std::vector<Server> memory_;  // by node
  Rate sender_;
  Rate link_;
  Rate in_;
  Rate memory_rate_;
  Time hop_ = 0;
  Time latency_ = 0;
  Time buffer_ = 0;  // backlog of a link at which the link before it stops
  int leaves_ = 1;
};

}  // namespace weft::sim
