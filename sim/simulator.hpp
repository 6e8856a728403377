// Simulator: runs the plans of all ranks in virtual time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/inspect/trace.hpp"
#include "sim/hardware.hpp"
#include "sim/program.hpp"

namespace weft::sim {

struct Options {
  double jitter_ns = 0;          ///< each message is delayed by up to so much
  std::uint64_t seed = 1;        ///< of the jitter
  bool breakdown = false;        ///< fills in Result::breakdown_ns
  plan::Trace* trace = nullptr;  ///< gets the spans, unless null
  /// Simulates one rank for each class of ranks that do the same (sim/classes.hpp) where there are
  /// such classes, and no trace is asked for.
  bool by_class = false;
  int root = 0;  ///< by class: of a rooted collective
  /// Called at intervals with the number of ops that are done, and of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
};

/// Category of the time of a collective, along the chain of ops and messages that ended last.
enum class Cost : std::uint8_t {
  startup,  ///< posting, polling, gaps between messages, latency, signals, handshakes
  wire,     ///< bytes at the rate of one message on an idle network
  copy,     ///< inside nodes
  reduction,
  contention,  ///< waits for an adapter, a link or memory in use
};
inline constexpr std::size_t kCosts = 5;
std::string_view to_string(Cost cost);

struct Result {
  double time_ns = 0;             ///< of the last rank
  std::vector<double> finish_ns;  ///< by rank; by class: by member
  int simulated = 0;              ///< ranks: all, or one for each class
  std::string whole;              ///< why all ranks were simulated where classes were asked for
  bool counted = true;            ///< whether messages and bytes are known; else 0
  std::uint64_t messages = 0;     ///< between nodes
  std::uint64_t wire_bytes = 0;
  std::uint64_t events = 0;
  std::array<double, kCosts> breakdown_ns = {};  ///< by Cost; their sum is time_ns. If asked for
};

/// Runs the plans of all ranks, which begin at the same time. The same arguments give the same
/// result on every machine. Ranks that share cores (Host) have them in turn, as Processors says.
///
/// A rank is one core that does one thing at a time, in the order of engine::Executor: it starts
/// the ops that are ready, first come first served; when there are none, it handles arrivals.
/// Adapters, links and memory work at the same time:
///  - A send occupies its core for post_ns, and up to pio_bytes while the core stores the message,
///    until the adapter has taken it.
///  - Pieces of messages pass an adapter one at a time, of each sending rank in turn. A piece
///    occupies the adapter, the links of its route and the receiver's adapter for its bytes at
///    their rates. A backlog of a receiver or link above buffer_bytes blocks what is behind it.
///  - For a message above eager_bytes the sender asks the receiver first, whose core answers once
///    its recv has started; with receiver_first the receiver announces that without being asked.
///  - A receiving core compares the message with half of the recvs that wait for other peers.
///  - A message inside a node is copied twice, once by each core; above eager_bytes, only once.
///  - A copy from or to memory of another rank of the node, except stages, is a system call where
///    call_ns is not 0.
/// UsageError where the plans do not fit together or deadlock; it names the ranks that wait.
Result simulate(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
                const Hardware& hardware, const Options& options = {});

}  // namespace weft::sim
