#include "sim/network.hpp"

#include <algorithm>

namespace weft::sim {

namespace {

Rate slower(const Rate& a, const Rate& b) {
  return a.is_slower_than(b) ? a : b;
}

}  // namespace

Network::Network(const hierarchy::Machine& machine, const Hardware& hardware)
    : machine_(machine),
      rails_(std::max(1, hardware.rails)),
      per_leaf_(hardware.fabric.nodes_per_leaf),
      uplinks_(hardware.fabric.uplinks_per_leaf > 0 ? hardware.fabric.uplinks_per_leaf
                                                    : std::max(1, per_leaf_)),
      adapters_(static_cast<std::size_t>(machine.nodes()) * rails_),
      memory_(static_cast<std::size_t>(machine.nodes())) {
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
  up_.resize(static_cast<std::size_t>(rails_) * leaves_ * uplinks_);
  down_.resize(up_.size());
}

const Network::Speed& Network::speed(int senders) const {
  return speeds_[std::min(static_cast<std::size_t>(senders), speeds_.size() - 1)];
}

int Network::route(const Piece& piece, Hop (&hops)[3]) {
  int count = 0;
  const int from = leaf_of(piece.from_node);
  const int to = leaf_of(piece.to_node);
  if (from != to) {
    const int uplink = piece.to_node % uplinks_;
    const auto plane = static_cast<std::size_t>(piece.rail) * leaves_;
    hops[count++] = {&up_[(plane + from) * uplinks_ + uplink], link_};
    hops[count++] = {&down_[(plane + to) * uplinks_ + uplink], link_};
  }
  hops[count++] = {&adapters_[adapter_of(piece.to_node, piece.rail)].in, in_};
  return count;
}

Passage Network::send(const Piece& piece, int senders, Time now) {
  Adapter& adapter = adapters_[adapter_of(piece.from_node, piece.rail)];
  const Speed& rates = speed(senders);
  const Rate rate = slower(rates.out, link_);
  Time start = std::max(piece.ready, adapter.out.free_at);
  if (piece.is_first) start = std::max(start, adapter.next_message_at);
  // The gap is between messages: the next piece of this message does not wait for it.
  if (piece.is_first && !piece.is_whole) adapter.next_message_at = start + rates.gap;
  Time busy = start + std::max(rate.time(piece.bytes), piece.is_whole ? rates.gap : 0);
  Time tail = std::max(start + rate.time(piece.bytes), now);
  if (!piece.is_stored) {
    tail = std::max({tail, memory_[piece.from_node].reserve(start, memory_rate_.time(piece.bytes)),
                     start + sender_.time(piece.bytes)});
  }
  if (rates.both.is_limit()) {
    const Time end = adapter.both.reserve(start, rates.both.time(piece.bytes));
    busy = std::max(busy, end);
    tail = std::max(tail, end);
  }
  Time sent = tail;
  Hop hops[3];
  const int count = route(piece, hops);
  Time head = start;
  for (int i = 0; i < count; ++i) {
    const Time occupied = hops[i].rate.time(piece.bytes);
    head = std::max(head + hop_, hops[i].server->free_at);
    hops[i].server->free_at = head + occupied;
    tail = std::max(tail + hop_, head + occupied);
  }
  // A blocked link blocks the one before it, once its buffer is full.
  for (int i = count; i-- > 0;) {
    const Time held = hops[i].server->free_at - hop_ - buffer_;
    if (i > 0) {
      hops[i - 1].server->free_at = std::max(hops[i - 1].server->free_at, held);
    } else {
      busy = std::max(busy, held);
      sent = std::max(sent, held);
    }
  }
  adapter.out.free_at = busy;
  return {sent, tail + latency_};
}

Time Network::land(const Piece& piece, int senders, Time now) {
  const Time memory_time = memory_rate_.time(piece.bytes);
  Time end = std::max(now, memory_[piece.to_node].reserve(now - memory_time, memory_time));
  const Speed& rates = speed(senders);
  if (!rates.both.is_limit()) return end;
  Adapter& adapter = adapters_[adapter_of(piece.to_node, piece.rail)];
  const Time time = rates.both.time(piece.bytes);
  const Time done = adapter.both.reserve(now - time, time);
  adapter.in.free_at = std::max(adapter.in.free_at, done - latency_);
  return std::max(end, done);
}

Time Network::use_memory(int node, std::uint64_t bytes, Time now) {
  return memory_[node].reserve(now, memory_rate_.time(bytes));
}

Time Network::latency(int from_node, int to_node) const {
  return latency_ + (leaf_of(from_node) == leaf_of(to_node) ? 1 : 3) * hop_;
}

Time Network::wire_time(std::uint64_t bytes) const {
  return slower(slower(slower(speeds_[0].out, link_), in_), sender_).time(bytes);
}

}  // namespace weft::sim
