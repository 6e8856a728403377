// Bootstrap: how the ranks of a communicator reach one another before there is a channel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_types.hpp"

namespace weft {

/// The way ranks reach one another before there is a channel. Used when a communicator is made and
/// when a new plan needs new connections, never after. Implemented for MPI (weft/mpi.hpp), TCP and
/// threads (below); bring your own by deriving from it.
class WEFT_API Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Collective. Everyone's `mine`, in rank order; lengths may differ.
  virtual std::vector<std::string> allgather(std::string_view mine) = 0;
  /// Gives mine[i] to rank peers[i] and returns what that rank gave. Both ranks of a pair name each
  /// other, equally often, and their calls that do are matched in order. Peers are distinct.
  virtual std::vector<std::string> exchange(std::span<const int> peers,
                                            std::span<const std::string> mine) = 0;
  /// Joins two texts: associative and commutative.
  using Merge = std::function<std::string(std::string_view, std::string_view)>;
  /// Collective. All that ranks give joined to one text, the same on each.
  virtual std::string combine(std::string_view mine, const Merge& merge) {
    const std::vector<std::string> all = allgather(mine);
    std::string joined = all.front();
    for (std::size_t rank = 1; rank < all.size(); ++rank) joined = merge(joined, all[rank]);
    return joined;
  }
  /// As allgather() among some ranks: `members`, ascending, this one among them. Collective over
  /// these.
  virtual std::vector<std::string> gather_among(std::span<const int> members,
                                                std::string_view mine) {
    if (members.size() == static_cast<std::size_t>(size())) return allgather(mine);
    std::vector<int> peers;
    for (const int member : members) {
      if (member != rank()) peers.push_back(member);
    }
    std::vector<std::string> texts =
        exchange(peers, std::vector<std::string>(peers.size(), std::string(mine)));
    std::size_t place = 0;
    while (members[place] != rank()) ++place;
    texts.emplace(texts.begin() + static_cast<std::ptrdiff_t>(place), mine);
    return texts;
  }
  /// This rank takes no further part: where others wait for it, or come to, they get PeerError with
  /// `why`, and so do its own later calls. Waits for nobody. Here: they are not told.
  virtual void give_up(std::string_view /*why*/) {}
  /// Moves on a little the work of the ranks outside weft that moves only when called, such as the
  /// messages of an MPI. Called often while a rank waits for more than a millisecond, and ten
  /// thousand times a second while it runs collectives.
  virtual void progress() {}
  /// Called every second or so while a rank waits. Throws PeerError when a rank is known to be
  /// gone.
  virtual void check() {}
};

/// Ranks that share nothing but TCP. Environment: WEFT_RANK, WEFT_SIZE, WEFT_ROOT=host:port (where
/// rank 0 listens), WEFT_SECRET_FILE (needed unless WEFT_ROOT is on the loopback: docs/security.md)
/// and WEFT_CONNECT_TIMEOUT in seconds (default 30). UsageError names a variable that is missing or
/// wrong; PeerError when ranks do not appear in time.
WEFT_API std::unique_ptr<Bootstrap> tcp_bootstrap();

/// Ranks that are threads of this process: one bootstrap for each, to be used by its own thread.
WEFT_API std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int ranks);

/// The ranks of `owner` for one communicator more. `owner` lives longer; two communicators over one
/// bootstrap are not made, nor make calls with new sizes, at the same time. Where one of them
/// fails, all fail.
WEFT_API std::unique_ptr<Bootstrap> borrowed_bootstrap(Bootstrap& owner);

}  // namespace weft
