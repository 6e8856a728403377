// The channel's promises between two ranks over the device of WEFT_DEVICE: every message arrives
// whole and in order whatever its size and layout, nothing else is written, and each way to fail is
// seen at both ends. Prints a line for each part; exits with 1 when one does not hold.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <random>

#include "channel_end.hpp"

namespace weft::rig {
namespace {

using verbs::Layout;
using verbs::Status;
using verbs::Transfer;

constexpr int kMessages = 120;
constexpr std::byte kUntouched{0x5a};

/// A message as both ranks know it: they draw it from the same numbers.
struct Message {
  explicit Message(std::mt19937& random) : seed(random()) {
    switch (random() % 8) {
      case 0:
        bytes = kRendezvousBytes - 2 + random() % 5;  // around the limit
        break;
      case 1:
        bytes = 1 + random() % 2'000'000;
        break;
      case 2:
        bytes = 1 + random() % 100'000;
        break;
      default:
        bytes = 1 + random() % 4000;
    }
    const std::uint64_t wanted[2] = {1 + random() % 6, 1 + random() % 6};
    for (int end = 0; end < 2; ++end) {
      count[end] = wanted[end];
      while (bytes % count[end] != 0) --count[end];
      gap[end] = random() % 40;
    }
  }
  std::byte at(std::uint64_t i) const {
    return static_cast<std::byte>((seed + i * 0x9e37'79b9) >> 11);
  }
  /// Memory for it, at the sending (0) or the receiving end (1).
  Layout place(Arena& arena, int end) const {
    const std::uint64_t stride = bytes / count[end] + gap[end];
    std::byte* memory = arena.take(stride * count[end]);
    std::memset(memory, static_cast<int>(kUntouched), stride * count[end]);
    return {memory, bytes / count[end], count[end], stride, end == 0 ? arena.lkey() : arena.rkey()};
  }
  std::uint64_t seed;
  std::uint64_t bytes;
  std::uint64_t count[2];
  std::uint64_t gap[2];
};

struct Outgoing {
  Outgoing(const Message& message, Arena& arena) {
    transfer.layout = message.place(arena, 0);
    for (std::uint64_t i = 0; i < message.bytes; ++i) {
      const Layout& layout = transfer.layout;
      layout.base[i / layout.block_bytes * layout.stride + i % layout.block_bytes] = message.at(i);
    }
  }
  Transfer transfer;
};

void expect_arrived(const Message& message, const Layout& layout) {
  for (std::uint64_t block = 0, i = 0; block < layout.count; ++block) {
    const std::byte* memory = layout.base + block * layout.stride;
    for (std::uint64_t at = 0; at < layout.stride; ++at) {
      const bool inside = at < layout.block_bytes;
      require(memory[at] == (inside ? message.at(i) : kUntouched),
              inside ? "a byte is wrong" : "a byte between the blocks was written");
      i += inside ? 1 : 0;
    }
  }
}

/// Messages in both directions, posted in bursts, in order each way.
void streams(verbs::Endpoint& endpoint, int rank, unsigned seed) {
  End end(endpoint, 1 - rank);
  Arena sources(endpoint);
  Arena targets(endpoint);
  std::mt19937 script(seed);
  std::mt19937 pace(seed * 2 + static_cast<unsigned>(rank));
  for (int left = kMessages; left > 0;) {
    const int burst = std::min<int>(left, 1 + static_cast<int>(script() % 8));
    left -= burst;
    sources.reset();
    targets.reset();
    std::deque<Message> of_rank[2];
    for (int i = 0; i < burst; ++i) {
      for (auto& messages : of_rank) messages.emplace_back(script);
    }
    std::deque<Outgoing> sends;
    std::deque<Transfer> recvs(static_cast<std::size_t>(burst));
    for (const Message& message : of_rank[rank]) sends.emplace_back(message, sources);
    for (int i = 0; i < burst; ++i) recvs[i].layout = of_rank[1 - rank][i].place(targets, 1);
    std::size_t sent = 0;
    std::size_t received = 0;
    until("a burst", [&] {
      if (sent < sends.size() && pace() % 3 != 0) end.channel.send(sends[sent++].transfer);
      if (received < recvs.size() && pace() % 3 != 0) end.channel.recv(recvs[received++]);
      require(end.channel.progress() != Status::failed, end.channel.failure());
      return sent == sends.size() && received == recvs.size() && end.channel.idle();
    });
    for (int i = 0; i < burst; ++i) expect_arrived(of_rank[1 - rank][i], recvs[i].layout);
    // The arenas are used anew: what the peer still puts must be in place.
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Drives the channel until it fails; why.
std::string failure_of(End& end) {
  until("a failure", [&] {
    end.channel.probe();
    return end.channel.progress() == Status::failed;
  });
  return end.channel.failure();
}

void sizes_disagree(verbs::Endpoint& endpoint, int rank, std::uint64_t sent,
                    std::uint64_t expected) {
  End end(endpoint, 1 - rank);
  Arena arena(endpoint);
  const std::uint64_t bytes = rank == 0 ? sent : expected;
  Transfer transfer;
  transfer.layout = {arena.take(bytes), bytes, 1, bytes, rank == 0 ? arena.lkey() : arena.rkey()};
  rank == 0 ? end.channel.send(transfer) : end.channel.recv(transfer);
  std::string why;
  // One end finds out; the other is told here by MPI, as a collective would by abort().
  const int finder = sent > kRendezvousBytes ? 0 : 1;
  if (rank == finder) {
    why = failure_of(end);
  } else {
    end.channel.progress();
  }
  int found = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  until("the other end", [&] {
    if (rank != finder) end.channel.progress();
    MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    return found != 0;
  });
  require(rank != finder || why == "sender and receiver disagree on sizes", "said: " + why);
}

void abort_is_told(verbs::Endpoint& endpoint, int rank) {
  End end(endpoint, 1 - rank);
  if (rank == 0) {
    end.wire.signal_from_now_on();
    end.channel.abort("rank 3: out of memory");
  }
  until("the word of the peer", [&] {
    endpoint.poll();
    return rank == 0 ? end.wire.is_drained() : end.channel.peer_abort().has_value();
  });
  require(rank == 0 || end.channel.peer_abort() == "rank 3: out of memory", "text");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A write with a key that the peer never gave breaks the connection at both ends.
void wrong_key(verbs::Endpoint& endpoint, int rank) {
  End end(endpoint, 1 - rank);
  Arena arena(endpoint);
  std::byte* memory = arena.take(64);
  if (rank == 0) {
    auto keys = end.wire.remote_keys(arena.rkey());
    keys[0] ^= 0x5a5a00;
    end.wire.put(reinterpret_cast<std::uint64_t>(memory), keys, memory, arena.lkey(), 64);
    const std::string why = failure_of(end);
    require(why.find("access error") != why.npos, "said: " + why);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    require(!failure_of(end).empty(), "no reason");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void run(int rank) {
  verbs::Endpoint endpoint(verbs::PortSettings::from_environment());
  const auto part = [&](const std::string& name, const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& error) {
      throw std::runtime_error(name + ": " + error.what());
    }
    if (rank == 0) std::printf("holds: %s\n", name.c_str());
  };
  if (rank == 0) std::printf("over %s\n", endpoint.describe().c_str());
  for (unsigned seed = 1; seed <= 3; ++seed) {
    part(std::to_string(kMessages) + " messages each way, seed " + std::to_string(seed),
         [&] { streams(endpoint, rank, seed); });
  }
  part("small sizes that disagree", [&] { sizes_disagree(endpoint, rank, 100, 50); });
  part("large sizes that disagree", [&] { sizes_disagree(endpoint, rank, 50000, 40000); });
  part("a peer that gives up is heard", [&] { abort_is_told(endpoint, rank); });
  part("a wrong key breaks both ends", [&] { wrong_key(endpoint, rank); });
}

}  // namespace
}  // namespace weft::rig

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    weft::rig::require(ranks == 2, "needs two ranks");
    weft::rig::run(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "channel: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
