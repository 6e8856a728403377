// The processors of hosts, where ranks share them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "sim/units.hpp"

namespace weft::sim {

/// Which rank has which core when. Ranks of a host are dealt out to its cores in order. Of the
/// ranks of a core one runs at a time, for as long as it has something to do; nobody is driven out.
/// Then the core goes to the one that has had least of it, as Linux shares it out. Ranks that wait
/// poll and give the core away at once; but as it is given back to them while they have had less of
/// it than those that have work, they use up their shares.
class Processors {
 public:
  Processors(const hierarchy::Machine& machine, const Host& host);

  /// Whether ranks share any core.
  bool are_shared() const { return !cores_.empty(); }
  bool may_run(int rank) const { return !are_shared() || seats_[rank].is_alone || runs(rank); }

  /// A turn: who has the core, from when on. It is to be announced by begin() then, unless there is
  /// another one for the same core before that.
  struct Turn {
    int core = 0;
    std::uint32_t number = 0;
    Time at = 0;
  };
  /// The rank, which does not run, has something to do.
  std::optional<Turn> want(int rank, Time now);
  /// The turn's time has come: the rank that runs now, -1 where there was another turn.
  int begin(int core, std::uint32_t number, Time now);
  enum class Waiting : std::uint8_t {
    over,     ///< the rank is done
    inside,   ///< for neighbours: it sleeps when that takes longer
    network,  ///< it polls
  };
  /// The rank, which runs, has nothing to do.
  std::optional<Turn> let_go(int rank, Waiting waiting, Time now);

 private:
  struct Seat {
    int core = 0;
    bool is_alone = false;  // no other rank is on its core
    bool wants = false;
    Time had = 0;    // of the core
    Time polls = 0;  // for so long more of it while it waits
  };
  struct Core {
    std::vector<int> ranks;
    int running = -1;
    int last = -1;    // that ran
    int chosen = -1;  // runs next
    std::uint32_t turns = 0;
    Time since = 0;  // since when the rank runs, or those that wait have the core
  };

  bool runs(int rank) const { return cores_[seats_[rank].core].running == rank; }
  void share_out(Core& core, Time time);
  std::optional<Turn> choose(int core, Time now);

  const Time switch_;
  std::vector<Core> cores_;  // empty: every rank has one
  std::vector<Seat> seats_;  // by rank
};

}  // namespace weft::sim
