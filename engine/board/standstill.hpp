// Standstill: why the ranks of a communicator do not go on, from what their postings say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/board/reading.hpp"

namespace weft::engine::board {

/// Ranks of which the same is to be said.
struct Group {
  std::vector<int> ranks;
  SeenCall call;
};

/// The wait that holds up the others, and the state of the rank that it is for.
struct Edge {
  enum class Target : std::uint8_t {
    absent,   ///< has not entered the call
    dead,     ///< its process has ended
    stopped,  ///< its process is stopped
    gone_on,  ///< has left the call, or has entered a later one
    busy,     ///< is in the call and waits for nobody
    in_turn,  ///< waits for this rank, directly or not: they wait in a circle
    unknown,  ///< on another node, which did not answer
  };
  int from = 0;
  int to = 0;
  std::optional<SeenWait> wait;  // nothing: they set the call up, by the bootstrap
  Target target = Target::unknown;
  int dependents = 0;  // ranks other than these that wait for `to`, directly or not
};

/// Ranks are those of the communicator, ascending.
struct Standstill {
  std::uint64_t communicator = 0;
  int size = 0;
  std::vector<int> waiting;             // in a call, or setting it up; empty: nothing stands still
  std::optional<SeenCall> call;         // the first that any of them is in
  double since_s = 0;                   // age of the longest wait
  bool is_setup = false;                // of the call
  std::vector<Group> different;         // where ranks have made different calls: most ranks first
  std::optional<SeenCall> last_common;  // the last call before those
  std::vector<int> absent;              // alive, and in no call as late as `call`
  std::vector<int> dead;
  std::vector<int> stopped;
  std::vector<int> unknown;
  std::optional<Edge> edge;
};

/// A pure function of what was seen.
Standstill judge(const SeenCommunicator& seen);

/// "0, 3-7": ascending.
std::string list_of(const std::vector<int>& ranks);
/// "broadcast of 64 bytes with root 1 (call 12, by leader)".
std::string describe(const SeenCall& call);

/// For people: several lines, each of which begins with "weft: ". `stack_of`, where it is given:
/// the stack of a process, for ranks that are missing; "" where there is none.
std::string to_text(const SeenCommunicator& seen, const Standstill& found,
                    const std::function<std::string(pid_t)>& stack_of = {});

}  // namespace weft::engine::board
