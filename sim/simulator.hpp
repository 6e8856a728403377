// The simulator: runs the plans of all ranks in virtual time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/show/trace.hpp"
#include "sim/hardware.hpp"
#include "sim/program.hpp"

namespace weft::sim {

struct Options {
  double jitter_ns = 0;          ///< each message comes up to so much later
  std::uint64_t seed = 1;        ///< of the jitter
  bool breakdown = false;        ///< says where the time went
  plan::Trace* trace = nullptr;  ///< gets the spans, if there is one
  /// Called now and then, if at all: how many ops are done, of how many.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
};

/// What the time of a collective went into, along the chain of ops and messages that ended last.
enum class Cost : std::uint8_t {
  startup,  ///< posting, polling, gaps between messages, latency, signals, handshakes
  wire,     ///< bytes at the rate that one message alone would have
  copy,     ///< inside nodes
  reduction,
  contention,  ///< waiting for an adapter, a link or memory that others use
};
inline constexpr std::size_t kCosts = 5;
std::string_view to_string(Cost cost);

struct Result {
  double time_ns = 0;             ///< of the rank that is last
  std::vector<double> finish_ns;  ///< by rank
  std::uint64_t messages = 0;     ///< between nodes
  std::uint64_t wire_bytes = 0;
  std::uint64_t events = 0;
  std::array<double, kCosts> breakdown_ns = {};  ///< by Cost; their sum is time_ns. If asked for
};

/// Runs the plans of all ranks, which begin at the same time. The same arguments give the same
/// result on every machine. Ranks that share cores (Host) have them in turn, as Processors says.
///
/// A rank is one core that does one thing at a time, in the order of engine::Executor: it starts
/// the ops that are ready, first come first served; when there are none, it looks after what has
/// come meanwhile. Adapters, links and memory are occupied beside that:
///  - A send keeps its core for post_ns, and while it stores the message where that is up to
///    pio_bytes. What the adapter has not taken keeps the core until it does.
///  - Pieces of messages pass an adapter one at a time, of each sending rank in turn. A piece keeps
///    the adapter, the links of its route and the receiver's adapter for its bytes at their rates.
///    A receiver's or link's backlog above buffer_bytes holds what is behind it.
///  - A message above eager_bytes asks its receiver first, whose core answers once its recv has
///    started; with receiver_first it is not asked, and the sender waits for its word.
///  - A core that has received compares the message with half of the recvs that wait for others.
///  - A message inside a node is copied twice, by either core; above eager_bytes, once.
///  - A copy from or to what another rank of the node has takes a system call where call_ns says
///    so, unless it is in a stage.
/// UsageError where the plans do not fit together or come to a deadlock; it says who waits where.
Result simulate(const PlanSource& plan_of_rank, const hierarchy::Machine& machine,
                const Hardware& hardware, const Options& options = {});

}  // namespace weft::sim
