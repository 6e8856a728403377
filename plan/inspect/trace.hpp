// Trace: the times at which ranks did their ops, simulated or measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace weft::plan {

/// The part of an op that a span of time belongs to.
enum class Activity : std::uint8_t {
  busy,     ///< the rank's core works at it
  message,  ///< a message, from the send's leaving the core to its arrival at the recv
};

struct Span {
  Activity activity = Activity::busy;
  OpKind kind = OpKind::copy;
  int rank = 0;
  OpId op = 0;
  int peer = -1;  // send, recv, signal, wait
  std::uint64_t bytes = 0;
  std::int64_t begin_ps = 0;  // picoseconds since the beginning
  std::int64_t end_ps = 0;
};

struct Trace {
  std::string name;               ///< "sa on qle7140", "measured"
  std::vector<int> node_of_rank;  ///< of all ranks
  std::vector<Span> spans;        ///< in any order
};

/// JSON in Chrome's trace event format, which Perfetto and chrome://tracing open: a process for
/// each node of each trace, a thread for each rank; messages as arrows of their own track.
std::string to_trace_events(std::span<const Trace> traces);

/// A drawing: a lane for each rank, messages as lines between lanes; traces below one another at
/// the same scale.
std::string to_svg(std::span<const Trace> traces);

}  // namespace weft::plan
