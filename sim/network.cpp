#include "sim/network.hpp"

#include <algorithm>

namespace weft::sim {

namespace {

Rate slower(const Rate& a, const Rate& b) {
  return a.is_slower_than(b) ? a : b;
}

}  // namespace

Network::Network(const hierarchy::Machine& machine, const Members& members,
                 const Hardware& hardware)
    : machine_(machine),
      members_(members),
      rails_(std::max(1, hardware.rails)),
      per_leaf_(hardware.fabric.nodes_per_leaf),
      uplinks_(hardware.fabric.uplinks_per_leaf > 0 ? hardware.fabric.uplinks_per_leaf
                                                    : std::max(1, per_leaf_)),
      adapters_(static_cast<std::size_t>(members.nodes()) * rails_),
      memory_(static_cast<std::size_t>(members.nodes())) {
  const auto& adapter = hardware.adapter;
  const bool limits_both = adapter.both_ways_bytes_per_ns > 0 &&
                           adapter.both_ways_bytes_per_ns < 2 * adapter.bytes_per_ns;
  for (int senders = 0; senders <= machine.widest(); ++senders) {
    const double total = adapter.senders.at(std::max(1, senders));
    Speed& speed = speeds_.emplace_back();
    speed.out = Rate(adapter.bytes_per_ns * total);
    speed.both = Rate(limits_both ? adapter.both_ways_bytes_per_ns * total : 0);
    speed.gap = to_time(adapter.message_gap_ns / total);
  }
  const auto& fabric = hardware.fabric;
  link_ =
      fabric.link_bytes_per_ns > 0 ? Rate(fabric.link_bytes_per_ns) : Rate(adapter.bytes_per_ns);
  in_ = slower(link_, Rate(adapter.bytes_per_ns));
  sender_ = Rate(adapter.queue_bytes_per_ns);
  memory_rate_ = Rate(hardware.node.total_bytes_per_ns);
  hop_ = to_time(fabric.hop_ns);
  latency_ = to_time(adapter.latency_ns);
  buffer_ = link_.time(fabric.buffer_bytes);
  if (per_leaf_ > 0) leaves_ = (machine.nodes() + per_leaf_ - 1) / per_leaf_;
  up_rate_ = link_;
  if (members.by_class() && per_leaf_ > uplinks_) {
    const double whole =
        fabric.link_bytes_per_ns > 0 ? fabric.link_bytes_per_ns : adapter.bytes_per_ns;
    up_rate_ = Rate(whole * uplinks_ / per_leaf_);
  }
  up_.resize(static_cast<std::size_t>(rails_) *
             (members.by_class() ? members.nodes() : leaves_ * uplinks_));
  down_.resize(up_.size());
}

const Network::Speed& Network::speed(int senders) const {
  return speeds_[std::min(static_cast<std::size_t>(senders), speeds_.size() - 1)];
}

int Network::route(const Piece& piece, const Arrival& arrival, Hop (&hops)[3]) {
  int count = 0;
  const int to = leaf_of(arrival.number);
  const auto rail = static_cast<std::size_t>(piece.rail);
  if (piece.leaf != to && members_.by_class()) {
    const auto plane = rail * static_cast<std::size_t>(members_.nodes());
    hops[count++] = {&up_[plane + static_cast<std::size_t>(piece.from_node)], up_rate_};
    hops[count++] = {&down_[plane + static_cast<std::size_t>(arrival.node)], up_rate_};
  } else if (piece.leaf != to) {
    const int uplink = arrival.number % uplinks_;
    const auto plane = rail * static_cast<std::size_t>(leaves_);
    hops[count++] = {&up_[(plane + piece.leaf) * uplinks_ + uplink], link_};
    hops[count++] = {&down_[(plane + to) * uplinks_ + uplink], link_};
  }
  hops[count++] = {&adapters_[adapter_of(arrival.node, piece.rail)].in, in_};
  return count;
}

Time Network::pass(const Piece& piece, Time first, Time start, Time tail, Arrival& arrival) {
  Hop hops[3];
  const int count = route(piece, arrival, hops);
  for (int i = 0; i < count; ++i) {
    const Time occupied = hops[i].rate.time(piece.bytes);
    // Links are shared with the other nodes' messages of the class, the adapter's with those of
    // the receivers' class.
    const int weight = i + 1 == count ? arrival.weight : piece.weight;
    first = std::max(first + hop_, hops[i].server->free_at);
    hops[i].server->free_at = first + weight * occupied;
    start = std::max(start + hop_, first + (weight - 1) * occupied);
    tail = std::max(tail + hop_, start + occupied);
  }
  arrival.at = tail + latency_;
  // A blocked link blocks the one before it, once its buffer is full.
  Time held = 0;
  for (int i = count; i-- > 0;) {
    held = hops[i].server->free_at - hop_ - buffer_;
    if (i > 0) hops[i - 1].server->free_at = std::max(hops[i - 1].server->free_at, held);
  }
  return held;
}

Passage Network::send(const Piece& piece, std::span<Arrival> arrivals, int senders, Time now) {
  Adapter& adapter = adapters_[adapter_of(piece.from_node, piece.rail)];
  const Speed& rates = speed(senders);
  const Rate rate = slower(rates.out, link_);
  const int weight = piece.weight;
  Time first = std::max(piece.ready - piece.spread, adapter.out.free_at);
  if (piece.is_first) first = std::max(first, adapter.next_message_at);
  // The gap is between messages: the next piece of this message does not wait for it.
  if (piece.is_first && !piece.is_whole) adapter.next_message_at = first + weight * rates.gap;
  const Time each = std::max(rate.time(piece.bytes), piece.is_whole ? rates.gap : 0);
  Time busy = first + weight * each;
  const Time start = std::max(piece.ready, first + (weight - 1) * each);
  Time tail = std::max(start + rate.time(piece.bytes), now);
  if (!piece.is_stored) {
    const Time read =
        memory_[piece.from_node].reserve(first, weight * memory_rate_.time(piece.bytes));
    tail = std::max({tail, read, start + sender_.time(piece.bytes)});
  }
  if (rates.both.is_limit()) {
    const Time end = adapter.both.reserve(first, weight * rates.both.time(piece.bytes));
    busy = std::max(busy, end);
    tail = std::max(tail, end);
  }
  Time sent = tail;
  for (Arrival& arrival : arrivals) {
    const Time held = pass(piece, first, start, tail, arrival);
    busy = std::max(busy, held);
    sent = std::max(sent, held);
  }
  adapter.out.free_at = busy;
  return {sent, start - first};
}

Time Network::land(const Arrival& arrival, int rail, std::uint64_t bytes, int senders, Time now) {
  const Time memory_time = arrival.weight * memory_rate_.time(bytes);
  Time end = std::max(now, memory_[arrival.node].reserve(now - memory_time, memory_time));
  const Speed& rates = speed(senders);
  if (!rates.both.is_limit()) return end;
  Adapter& adapter = adapters_[adapter_of(arrival.node, rail)];
  const Time time = arrival.weight * rates.both.time(bytes);
  const Time done = adapter.both.reserve(now - time, time);
  adapter.in.free_at = std::max(adapter.in.free_at, done - latency_);
  return std::max(end, done);
}

Time Network::use_memory(int node, std::uint64_t bytes, int cores, Time now) {
  return memory_[node].reserve(now, cores * memory_rate_.time(bytes));
}

Time Network::latency(int from_node, int to_node) const {
  return latency_ + (leaf_of(from_node) == leaf_of(to_node) ? 1 : 3) * hop_;
}

Time Network::wire_time(std::uint64_t bytes) const {
  return slower(slower(slower(speeds_[0].out, link_), in_), sender_).time(bytes);
}

}  // namespace weft::sim
