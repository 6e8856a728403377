// Network model: the times at which adapters and links carry pieces of messages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "sim/members.hpp"
#include "sim/units.hpp"

namespace weft::sim {

/// A piece of a message under way, or of the messages of all ranks of a class: of the same size,
/// the last one `spread` after the first.
struct Piece {
  int from_node = 0;  // among those of the members
  int leaf = 0;       // of that node
  int rail = 0;
  std::uint64_t bytes = 0;
  int weight = 1;          // messages
  Time spread = 0;         // from the first to the last, which `ready` is of
  bool is_first = true;    // of its message
  bool is_whole = false;   // the only one of its message
  bool is_stored = false;  // by the core, which has just finished; else the adapter fetches it
  Time ready = 0;          // when the core began to store it; now where the adapter fetches it
};

/// Where a piece arrives.
struct Arrival {
  int node = 0;    // among those of the members
  int number = 0;  // of that node, in the machine
  int weight = 1;  // messages
  Time at = 0;     // to be filled in: its last byte is at the adapter, `latency_ns` included
};

struct Passage {
  Time sent = 0;    // end of its time at the sending adapter
  Time spread = 0;  // from the first to the last message of a class
};

/// Times are reserved in the order of calls. Senders ask when their adapter is free, so that each
/// link is asked for in about the order in which messages reach it.
///
/// Where members stand for classes, messages of a class follow one another through the adapter and
/// links of the member, which stands for the last of them. Links between switches are a node's own
/// then, as slow as its share of them where all nodes send.
class Network {
 public:
  /// The arguments must live longer.
  Network(const hierarchy::Machine& machine, const Members& members, const Hardware& hardware);

  int adapter_of(int node, int rail) const { return node * rails_ + rail; }
  int adapters() const { return static_cast<int>(adapters_.size()); }
  int rail_of(int member) const { return machine_.place_of(members_.rank_of(member)) % rails_; }
  int leaf_of(int node) const { return per_leaf_ == 0 ? 0 : node / per_leaf_; }
  /// When the adapter can begin the next piece.
  Time free_at(int adapter) const { return adapters_[adapter].out.free_at; }

  /// `senders` local cores send through the adapter now.
  Passage send(const Piece& piece, std::span<Arrival> arrivals, int senders, Time now);
  /// The last byte of a piece has arrived at the receiving adapter. Returns when it is in memory.
  Time land(const Arrival& arrival, int rail, std::uint64_t bytes, int senders, Time now);
  /// So many cores each read `bytes` from memory, not from their cache. Returns the end.
  Time use_memory(int node, std::uint64_t bytes, int cores, Time now);

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
  /// Fills in the links after the sending adapter. Returns their number.
  int route(const Piece& piece, const Arrival& arrival, Hop (&hops)[3]);
  /// When the link before the route is free of that piece, whose first message begins at `first`,
  /// the last one at `start`, to end at `tail`. Fills in the arrival.
  Time pass(const Piece& piece, Time first, Time start, Time tail, Arrival& arrival);

  const hierarchy::Machine& machine_;
  const Members& members_;
  const int rails_;
  const int per_leaf_;
  const int uplinks_;
  std::vector<Speed> speeds_;
  std::vector<Adapter> adapters_;
  std::vector<Server> up_;      // by rail, leaf, uplink; by class: by rail and node
  std::vector<Server> down_;    // the same
  std::vector<Server> memory_;  // by node
  Rate sender_;
  Rate link_;
  Rate up_rate_;
  Rate in_;
  Rate memory_rate_;
  Time hop_ = 0;
  Time latency_ = 0;
  Time buffer_ = 0;  // backlog of a link at which the link before it stops
  int leaves_ = 1;
};

}  // namespace weft::sim
