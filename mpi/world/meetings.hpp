// Meetings: tries to find all ranks of a communicator in one call, without waiting for them long.
//
// In a broadcast or scatter every rank waits for the root. So a rank that comes to one that is a
// meeting tells the root, and waits for its answer. The root waits for all the others, but for a
// short time only: then it answers that the meeting has failed, and nobody has agreed on anything.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/world/pause.hpp"
#include "mpi/world/post.hpp"

namespace weft::mpi {

/// Those of one communicator. Each rank has its own, and they count the same calls.
class Meetings {
 public:
  /// Counts a call that could be one. After each meeting in a row that failed, twice as many calls
  /// as before are none, so that a root that never finds all ranks waits for them seldom.
  bool is_due() noexcept { return pause_.is_over(); }
  /// Whether all ranks have come: the same answer on all of them. `members`: their ranks in the
  /// world; `root`: one of these. `patience_ns`: how long the root waits. PeerError where the root
  /// is lost, or another rank has given up.
  bool hold(Post& post, std::span<const int> members, int root, std::uint64_t context,
            std::int64_t patience_ns);

 private:
  bool ask(Post& post, int root, std::uint64_t context) const;
  bool await(Post& post, std::span<const int> members, std::uint64_t context,
             std::int64_t patience_ns) const;

  static constexpr unsigned kMostPause = 1 << 20;
  std::uint64_t held_ = 0;
  Pause pause_{kMostPause};  // after meetings that failed
};

}  // namespace weft::mpi
