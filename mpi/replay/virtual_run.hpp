// Virtual run: the recorded ranks once more, with other times of their collectives.
//
// Between collectives each rank works as long as it did, times a factor. A collective takes a rank
// until the last has come for whom it waits (matching.hpp), and then the time of the collective.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mpi/replay/matching.hpp"

namespace weft::mpi {

/// A rank's call in the run. Times in ns from the run's begin.
struct Span {
  std::size_t meeting = 0;
  double begin = 0, waited = 0, end = 0;  // waited: of the time between the two
};

struct VirtualRun {
  std::vector<std::vector<Span>> spans;  // by part of the recording, as Matched::steps
  std::vector<double> ends;              // of the ranks: what they did after the last call included
};

/// `time_ns(meeting)`: of the collective. `tails`: by part, the time between the end of the last
/// call and the end of the rank. `kind_of(meeting)`: for whom ranks wait there.
VirtualRun run_again(const Matched& matched, double work,
                     const std::function<double(std::size_t meeting)>& time_ns,
                     const std::function<const RecordedKind&(std::size_t meeting)>& kind_of,
                     const std::vector<double>& heads, const std::vector<double>& tails);

}  // namespace weft::mpi
