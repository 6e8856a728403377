// Scheduler model: the cores of hosts where ranks outnumber them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "sim/units.hpp"

namespace weft::sim {

/// Schedules ranks on cores. Ranks of a host are dealt to its cores in order. Of the ranks of a
/// core one runs at a time, as long as it has work, without preemption. Then the core goes to the
/// rank that has used it least, as Linux does. Ranks that wait poll and yield at once; but the core
/// returns to them while they have used less of it than the ranks with work, so polling uses up
/// their shares.
class Processors {
 public:
  Processors(const hierarchy::Machine& machine, const Host& host);

  /// Whether ranks share any core.
  bool are_shared() const { return !cores_.empty(); }
  bool may_run(int rank) const { return !are_shared() || seats_[rank].has_own_core || runs(rank); }

  /// A turn of a core begins at `at`: begin() is to be called then. A later turn of the same core
  /// replaces it.
  struct Turn {
    int core = 0;
    std::uint32_t number = 0;
    Time at = 0;
  };
  /// The rank, which does not run, has work.
  std::optional<Turn> request(int rank, Time now);
  /// Begins a turn of the core `number`. Returns the rank that runs now, -1 where the turn has been
  /// replaced.
  int begin(int number, std::uint32_t turn, Time now);
  enum class Waiting : std::uint8_t {
    done,        ///< for nothing: the rank has finished
    neighbours,  ///< it polls for a while, then sleeps
    network,     ///< it polls
  };
  /// The rank, which runs, has no work.
  std::optional<Turn> yield(int rank, Waiting waiting, Time now);

 private:
  struct Seat {
    int core = 0;
    bool has_own_core = false;  // no other rank is on its core
    bool wants = false;
    Time used = 0;   // of the core
    Time polls = 0;  // time that it will still spend polling while it waits
  };
  struct Core {
    std::vector<int> ranks;
    int running = -1;
    int last = -1;    // the rank that ran last
    int chosen = -1;  // the rank that runs next
    std::uint32_t turns = 0;
    Time since = 0;  // begin of the time of the running rank, or of those that poll
  };

  bool runs(int rank) const { return cores_[seats_[rank].core].running == rank; }
  void share_out(Core& core, Time time);
  std::optional<Turn> choose(int number, Time now);

  const Time switch_;
  std::vector<Core> cores_;  // empty: every rank has one
  std::vector<Seat> seats_;  // by rank
};

}  // namespace weft::sim
