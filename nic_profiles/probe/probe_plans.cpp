#include "nic_profiles/probe/probe_plans.hpp"

#include <algorithm>

#include "plan/builder.hpp"

namespace weft::nic_profiles {

namespace {

using hierarchy::Machine;
using plan::Builder;
using plan::OpId;
using plan::Plan;
using plan::Slice;
using plan::Space;

// More than any cache holds: where a node's buffers are that large, what no core has touched is in
// memory.
constexpr std::uint64_t kBeyondCaches_bytes = std::uint64_t{4} << 30;

Slice whole(Space space, int rank, std::uint64_t bytes) {
  return Slice::contiguous(space, rank, 0, bytes);
}

Plan play(Builder& builder) {
  return std::move(builder).finish();
}

/// The ops of one side of a stream: `messages` out, `messages` in, none of which waits for another.
void send_all(Builder& builder, const Stream& stream, int first_peer, int place) {
  for (int i = 0; i < stream.messages; ++i) {
    const int turn = stream.receivers > stream.senders ? place + i : place;
    builder.send(first_peer + turn % stream.receivers,
                 whole(Space::input, builder.rank(), stream.bytes));
  }
}

void receive_all(Builder& builder, const Stream& stream, int first_peer, int place) {
  for (int i = 0; i < stream.messages; ++i) {
    for (int sender = 0; sender < stream.senders; ++sender) {
      const int turn = stream.receivers > stream.senders ? sender + i : sender;
      if (turn % stream.receivers != place) continue;
      builder.recv(first_peer + sender, whole(Space::output, builder.rank(), stream.bytes));
    }
  }
}

/// A barrier of the ranks of a node: `done` are the ops that each must have completed.
OpId meet(Builder& builder, int cores, std::span<const OpId> done) {
  const int rank = builder.rank();
  std::vector<OpId> after(done.begin(), done.end());
  if (cores == 1) return after.empty() ? plan::kNoOp : after.back();
  if (rank != 0) {
    builder.signal(0, after);
    return builder.wait(0);
  }
  for (int other = 1; other < cores; ++other) after.push_back(builder.wait(other));
  OpId last = plan::kNoOp;
  for (int other = 1; other < cores; ++other) last = builder.signal(other, after);
  return last;
}

}  // namespace

Exercise ping_pong(std::uint64_t bytes, int rounds) {
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 2, bytes, bytes);
    const Slice out = whole(Space::input, rank, bytes), in = whole(Space::output, rank, bytes);
    OpId last = plan::kNoOp;
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        builder.send(1, out, last);
        last = builder.recv(1, in, last);
      } else {
        builder.send(0, out, builder.recv(0, in));
      }
    }
    return play(builder);
  };
  return {Machine::uniform(2, 1), plan_of_rank, 0};
}

Exercise stream(const Stream& stream) {
  const int width = std::max(stream.senders, stream.receivers);
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 2 * width, stream.bytes, stream.bytes);
    const int place = rank % width, there = rank < width ? width : 0;
    const bool sends = (rank < width || stream.both_ways) && place < stream.senders;
    const bool receives = (rank >= width || stream.both_ways) && place < stream.receivers;
    if (receives) receive_all(builder, stream, there, place);
    if (sends) send_all(builder, stream, there, place);
    return play(builder);
  };
  return {Machine::uniform(2, width), plan_of_rank, -1};
}

Exercise send_and_tell(std::uint64_t bytes, bool timed) {
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 3, rank == 0 ? bytes : 0, rank == 2 ? bytes : 0);
    if (rank == 0 && timed) builder.send(2, whole(Space::input, 0, bytes));
    if (rank == 0) builder.signal(1);
    if (rank == 1) builder.wait(0);
    if (rank == 2 && timed) builder.recv(0, whole(Space::output, 2, bytes));
    return play(builder);
  };
  return {Machine({0, 0, 1}), plan_of_rank, 1};
}

Exercise copy(const Copy& copy, bool timed) {
  const std::uint64_t block = std::max<std::uint64_t>(1, copy.bytes / copy.blocks);
  const std::uint64_t bytes = block * copy.blocks, extent = 2 * bytes;
  const bool fresh = copy.origin == Origin::fresh;
  const std::uint64_t reserved = copy.origin == Origin::memory ? kBeyondCaches_bytes : extent;
  const int ranks = copy.cores * (fresh ? 2 : 1);
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, ranks, reserved, bytes);
    if (rank >= copy.cores) {
      builder.send(rank - copy.cores, whole(Space::input, rank, bytes));
      return play(builder);
    }
    // Every other block of what lies there.
    const auto from = [&](const Slice& region) {
      return Slice::strided(region.space, rank, region.offset, block, copy.blocks,
                            copy.blocks == 1 ? block : 2 * block);
    };
    std::vector<OpId> ready;
    Slice source = from(whole(Space::input, rank, extent));
    if (copy.origin != Origin::memory) {
      const Slice region = builder.allocate_scratch(extent);
      source = from(region);
      const Slice start = Slice::contiguous(region.space, rank, region.offset, bytes);
      ready.push_back(fresh ? builder.recv(rank + copy.cores, start)
                            : builder.copy(start, whole(Space::input, rank, bytes)));
    }
    if (copy.since_bytes > 0) {
      const Slice old = builder.allocate_scratch(copy.since_bytes / 2);
      const Slice other = builder.allocate_scratch(copy.since_bytes / 2);
      ready = {builder.copy(other, old, ready)};
    }
    const OpId met = meet(builder, copy.cores, ready);
    if (timed) builder.copy(whole(Space::output, rank, bytes), source, met);
    return play(builder);
  };
  std::vector<int> nodes(static_cast<std::size_t>(ranks), 0);
  std::fill(nodes.begin() + copy.cores, nodes.end(), 1);
  return {Machine(std::move(nodes)), plan_of_rank, -1};
}

Exercise signals(int rounds) {
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 2, 0, 0);
    OpId last = plan::kNoOp;
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) builder.signal(1, last);
      last = builder.wait(1 - rank);
      if (rank == 1) builder.signal(0, last);
    }
    return play(builder);
  };
  return {Machine::uniform(1, 2), plan_of_rank, 0};
}

Exercise reduction(std::uint64_t bytes, bool timed) {
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 1, bytes, bytes);
    const Slice other = builder.allocate_scratch(bytes);
    const Slice input = whole(Space::input, rank, bytes),
                output = whole(Space::output, rank, bytes);
    const OpId first = builder.copy(output, input), second = builder.copy(other, input);
    if (timed) builder.reduce(output, other, plan::Operand::left, {first, second});
    return play(builder);
  };
  return {Machine::uniform(1, 1), plan_of_rank, -1};
}

Exercise call(std::uint64_t bytes, bool timed) {
  const auto plan_of_rank = [=](int rank) {
    Builder builder(rank, 2, bytes, bytes);
    const OpId written =
        builder.copy(whole(Space::output, rank, bytes), whole(Space::input, rank, bytes));
    if (rank == 1) {
      builder.signal(0, written);
      builder.wait(0);
      return play(builder);
    }
    OpId last = builder.wait(1, written);
    if (timed)
      last = builder.copy(whole(Space::output, 0, bytes), whole(Space::input, 1, bytes), last);
    builder.signal(1, last);
    return play(builder);
  };
  return {Machine::uniform(1, 2), plan_of_rank, 0};
}

}  // namespace weft::nic_profiles
