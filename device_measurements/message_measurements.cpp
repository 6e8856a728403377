// Measurements between the nodes.
#include <algorithm>

#include "base/cast.hpp"
#include "base/error.hpp"
#include "device_measurements/measurement_tasks.hpp"
#include "engine/node/doorbell.hpp"

namespace weft::device_measurements {

using engine::now_ns;
using nic_profiles::Stream;

std::vector<double> latency(Station& station, const Task& task) {
  if (station.place() != 0) return {};
  Connection& peer = station.to(0);
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    if (station.node() != 0) {
      station.receive(peer, task.bytes);
      station.send(peer, task.bytes);
      continue;
    }
    const std::int64_t begin = now_ns();
    station.send(peer, task.bytes);
    station.receive(peer, task.bytes);
    times.push_back(static_cast<double>(now_ns() - begin) / 2);
  }
  return times;
}

/// Time of a put to an address that is known before, with no other under way. In the callers'
/// memory each put has another address, as programs touch other memory between two collectives.
std::vector<double> send_busy(Station& station, const Task& task) {
  if (!station.is_at(0, 0)) return {};
  Connection& peer = station.to(0);
  const double look_ns = clock_ns();
  std::vector<double> times;
  for (int round = 0; round < task.repeats; ++round) {
    const bool callers = task.into == nic_profiles::Memory::callers;
    const std::uint64_t at = callers ? part(round, task.bytes) : 0;
    const std::uint64_t there = callers ? peer.inbox + at : peer.shared;
    const verbs::RemoteKeys& keys = callers ? peer.keys : peer.shared_keys;
    const std::int64_t begin = now_ns();
    verbs::Status status =
        peer.wire.put(there, keys, station.out() + at, station.key(), task.bytes);
    const std::int64_t end = now_ns();
    station.wait_until([&] {
      Station::progress(peer);
      return status == verbs::Status::ok && peer.wire.puts_done() == peer.wire.puts();
    });
    times.push_back(std::max(0.0, static_cast<double>(end - begin) - look_ns));
  }
  return times;
}

namespace {

constexpr int kUnderWay = 128;  // messages of a flow, as in perftest

/// The number of messages from the sender at one place to the receiver at another.
int messages_between(const Stream& stream, int sender, int receiver) {
  if (stream.receivers <= stream.senders) {
    return sender % stream.receivers == receiver ? stream.messages : 0;
  }
  const int first = (receiver - sender % stream.receivers + stream.receivers) % stream.receivers;
  return first >= stream.messages ? 0 : (stream.messages - first - 1) / stream.receivers + 1;
}

/// Messages of one connection, in one direction.
class Flow {
 public:
  Flow(Connection& connection, bool sends, int messages, const verbs::Layout& layout)
      : connection_(connection), sends_(sends), messages_(messages) {
    for (verbs::Transfer& transfer : transfers_) transfer.layout = layout;
  }
  bool sends() const { return sends_; }
  int done() const { return done_; }
  int left() const { return messages_ - done_; }

  /// Returns whether more messages are done than before.
  bool progress() {
    for (; begun_ < std::min(messages_, done_ + kUnderWay); ++begun_) {
      verbs::Transfer& next = transfers_[static_cast<std::size_t>(begun_ % kUnderWay)];
      sends_ ? connection_.channel.send(next) : connection_.channel.recv(next);
    }
    if (left() == 0) return false;
    Station::progress(connection_);
    const int before = done_;
    while (done_ < begun_ && transfers_[static_cast<std::size_t>(done_ % kUnderWay)].done) ++done_;
    return done_ != before;
  }

 private:
  Connection& connection_;
  bool sends_;
  int messages_;
  int begun_ = 0;
  int done_ = 0;
  std::vector<verbs::Transfer> transfers_{kUnderWay};
};

/// Memory in which the messages of a sender arrive: a part for each sender, like the blocks of a
/// collective, as long as there is room.
std::byte* inbox(Station& station, int sender, std::uint64_t bytes) {
  return station.in() + part(sender, bytes);
}

std::vector<Flow> flows_of(Station& station, const Stream& stream) {
  std::vector<Flow> flows;
  const int place = station.place();
  const bool forth = station.node() == 0;
  for (int other = 0; other < station.pairs(); ++other) {
    const auto add = [&](bool sends, int sender, int receiver) {
      if (sender >= stream.senders || receiver >= stream.receivers) return;
      const int messages = messages_between(stream, sender, receiver);
      if (messages == 0) return;
      std::byte* memory = sends ? station.out() : inbox(station, sender, stream.bytes);
      flows.emplace_back(station.to(other), sends, messages, station.layout(memory, stream.bytes));
    };
    if (forth || stream.both_ways) add(true, place, other);
    if (!forth || stream.both_ways) add(false, other, place);
  }
  return flows;
}

}  // namespace

std::vector<double> stream(Station& station, const Stream& stream) {
  if (station.place() >= station.pairs()) return {};
  std::vector<Flow> flows = flows_of(station, stream);
  int all = 0;
  for (const Flow& flow : flows) all += flow.left();
  int done = 0, counted_from = 0;
  std::int64_t begin_ns = 0;
  while (done < all) {
    station.wait_until([&] {
      bool moved = false;
      for (Flow& flow : flows) moved = flow.progress() || moved;
      return moved;
    });
    done = 0;
    for (const Flow& flow : flows) done += flow.done();
    if (begin_ns != 0 || done <= all / 4) continue;
    begin_ns = now_ns();
    counted_from = done;
  }
  const auto end_ns = static_cast<double>(now_ns());
  if (std::ranges::all_of(flows, &Flow::sends)) return {};
  return {static_cast<double>(begin_ns), end_ns, static_cast<double>(done - counted_from)};
}

}  // namespace weft::device_measurements
