// One end of a channel over a device, joined to its peer by MPI.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/file.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::rig {

inline constexpr std::uint64_t kRendezvousBytes = 8192;
inline constexpr std::size_t kArenaBytes = std::size_t{32} << 20;
inline constexpr std::chrono::seconds kPatience{30};

struct End {
  End(verbs::Endpoint& endpoint, int peer) : wire(endpoint), channel(wire, kRendezvousBytes) {
    const std::string mine = wire.address();
    std::string theirs(mine.size(), '\0');
    MPI_Sendrecv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, peer, 0, theirs.data(),
                 static_cast<int>(theirs.size()), MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wire.connect(theirs);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  verbs::RcWire wire;
  verbs::Channel channel;
};

/// Registered memory of which pieces are taken one after the other.
class Arena {
 public:
  explicit Arena(verbs::Endpoint& endpoint)
      : file_(make_memory_file("weft-test", kArenaBytes)),
        memory_(file_.get(), kArenaBytes),
        registration_(endpoint.register_memory(memory_.data(), memory_.size())) {}

  std::byte* take(std::size_t bytes) {
    if (used_ + bytes > kArenaBytes) throw std::runtime_error("the arena is used up");
    std::byte* piece = memory_.data() + used_;
    used_ += bytes;
    return piece;
  }
  void reset() { used_ = 0; }
  std::uint32_t lkey() const { return registration_.lkey(); }
  std::uint32_t rkey() const { return registration_.rkey(); }

 private:
  File file_;
  Mapping memory_;
  verbs::Registration registration_;
  std::size_t used_ = 0;
};

/// Calls `step` until it says true; throws when that takes too long.
inline void until(const std::string& what, const std::function<bool()>& step) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!step()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(what + ": too long");
    ::sched_yield();
  }
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace weft::rig
