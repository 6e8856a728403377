// Placement of a communicator's ranks: nodes, sockets, and the cores that ranks of a host share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_id.hpp"
#include "comm/setup/settings.hpp"
#include "hierarchy/machine.hpp"
#include "sim/hardware.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// A rank's own facts, which it tells the others in one text.
struct RankFacts {
  std::string host;             // hierarchy::host_identity()
  std::string socket;           // hierarchy::socket_identity(); empty: nobody asks
  std::string mask;             // hierarchy::affinity_mask()
  int quota = 0;                // hierarchy::cpu_quota(); 0: none
  ProcessId process = {};       // number 0: not said
  std::optional<bool> crowded;  // as Options and WEFT_WAIT ask

  std::string to_text() const;
  /// Error where the text is of another build.
  static RankFacts from_text(std::string_view text);
};

/// The way a rank waits: asleep where the ranks of its host outnumber the cores.
struct Waiting {
  bool crowded = false;
  std::string why;  // for the report
};

/// Hosts of a set of ranks, with the cores that they share. Other jobs on a host do not count.
class Hosts {
 public:
  explicit Hosts(std::span<const RankFacts> ranks);

  Waiting waiting_of(int rank) const;
  bool is_crowded(int rank) const { return crowded_[static_cast<std::size_t>(rank)] != 0; }
  /// Another rank's process, where that is on the host of `rank`; else number 0.
  ProcessId process_near(int rank, int other) const;
  /// How many ranks share a core where they share most; at least 1.
  int most_ranks_on_a_core() const;
  /// Whether all ranks are on one host, and so read the same clock.
  bool is_one() const noexcept { return hosts_.size() == 1; }
  /// Of a communicator of `members`: the host with the fewest cores for its ranks, of those that
  /// have too few for the ranks of this set. `machine` is that of the members.
  sim::Host busiest(const hierarchy::Machine& machine, std::span<const int> members) const;

 private:
  struct Host {
    int ranks = 0;
    int bound = 0;   // cores, by the masks
    int usable = 1;  // of these, by the quota
  };
  std::vector<int> host_of_rank_;
  std::vector<char> crowded_;         // by rank
  std::vector<char> asked_;           // by rank: so because it was asked for
  std::vector<ProcessId> processes_;  // by rank
  std::vector<Host> hosts_;
};

/// Facts on which the set-up of a communicator rests. A job knows them of all its ranks before any
/// communicator is set up, or the ranks of the communicator tell each other.
struct Facts {
  Settings settings;
  hierarchy::Machine machine;
  Waiting waiting;           // of this rank
  bool any_crowded = false;  // some rank's
  sim::Host busiest_host;
  /// Of the one communicator that a job begins with, which may take more memory than others. Alike
  /// on all ranks.
  bool is_of_all_ranks = false;

  /// Of the ranks `members` of a larger set, of which this one is `rank` there; `machine` is the
  /// members'.
  static Facts of(const Settings& settings, hierarchy::Machine machine, const Hosts& hosts,
                  std::span<const int> members, int rank);
};

/// From every rank's facts, in rank order, and from what was asked for. UsageError where that does
/// not fit the ranks.
hierarchy::Machine machine_of(const Options& options, const Settings& settings,
                              std::span<const RankFacts> ranks);

/// The place of each rank on the node of `rank`; -1 on other nodes.
std::vector<int> places_on_node_of(const hierarchy::Machine& machine, int rank);

}  // namespace weft::comm
