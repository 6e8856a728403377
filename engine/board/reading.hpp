// Reading of boards: what the ranks of this host have written down, found by way of /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/process_id.hpp"
#include "engine/board/layout.hpp"
#include "plan/problem.hpp"

namespace weft::engine::board {

/// A call as a posting shows it. Ages are in seconds before the look.
struct SeenCall {
  std::uint32_t number = 0;  // on its communicator, from 1; counts preparations, too
  std::uint32_t digest = 0;  // of it and all before it
  plan::Collective collective = plan::Collective::barrier;
  int root = 0;
  std::uint64_t bytes = 0;
  std::string algorithm;  // empty: not known
  std::string operation;  // of a reduction in which its rank waits; else empty
  double began_s = 0;
  std::optional<double> ended_s;  // nothing: it has not

  bool is_under_way() const { return !ended_s; }
};

/// An op of a plan at which a rank stands.
struct SeenWait {
  WaitKind kind = WaitKind::signal;
  std::uint32_t op = 0;
  int peer = 0;             // the rank that it waits for
  std::uint64_t bytes = 0;  // 0: a signal
  std::uint64_t moved = 0;
  bool over_device = false;
  bool broken = false;
  std::optional<Link> link;  // of a message
};

/// A process, as the system sees it.
struct SeenProcess {
  pid_t number = 0;  // 0: not known
  char state = '?';  // as in /proc/PID/stat: R, S, D, T, Z, ..; X: it is gone
  double cpu_s = 0;
  bool is_stopped() const { return state == 'T' || state == 't'; }
  bool is_dead() const { return state == 'X' || state == 'Z'; }
};

struct SeenRank {
  int rank = 0;
  int node = 0;
  SeenProcess process;
  bool has_posting = false;  // else only its process is known, from a neighbour
  Phase phase = Phase::calls;
  double phase_s = 0;             // age of the phase, but for `calls`
  std::optional<SeenCall> setup;  // in setting_up: what is to be called
  std::vector<SeenCall> calls;    // the last ones, ascending
  std::vector<SeenWait> waits;    // of a call under way, where it has waited a little
  double looked_s = 0;            // age of `waits`
  /// CPU time that the process has used since a neighbour began to miss it, and how long ago that
  /// was.
  std::optional<double> used_s;
  double missed_s = 0;
  std::string elsewhere;  // what it is in, on another communicator

  const SeenCall* last() const { return calls.empty() ? nullptr : &calls.back(); }
};

/// A communicator as far as this host shows it.
struct SeenCommunicator {
  std::uint64_t number = 0;
  int size = 0;
  std::vector<SeenRank> ranks;  // those that are known, ascending
};

/// The communicators in which ranks of these processes are, ordered by number. Of a neighbour that
/// has ended its number is known, and that it has. Reads boards of other processes whatever these
/// do; what is not of this build, or damaged, is left out.
std::vector<SeenCommunicator> look(std::span<const pid_t> processes);

/// Asks the ranks of these processes that wait in communicators which other nodes share what they
/// hear from there, and gives them some time: look() shows it then.
void ask_for_other_nodes(std::span<const pid_t> processes);

/// All processes of this user that have a board.
std::vector<pid_t> processes_with_board();

/// State and CPU time. It is gone where its number is another's by now.
SeenProcess process_state(const ProcessId& process);

}  // namespace weft::engine::board
