// Matching: which calls of different ranks are one collective.
//
// Ranks call the collectives of a communicator in one order, so the n-th calls of all ranks on it
// are one. A communicator is the same on two ranks where its number and its members are, and it was
// as many communicators of that kind before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/recording/recording.hpp"

namespace weft::mpi {

/// A rank's call in a collective. Times in ns since the first rank's MPI_Init.
struct Part {
  std::uint32_t part = 0;    // of Recording::parts
  std::uint32_t member = 0;  // the rank in the communicator
  std::uint32_t kind = 0;    // of that part
  double begin = 0, end = 0;
};

/// One collective of several ranks.
struct Meeting {
  std::size_t first = 0, count = 0;  // of Matched::parts
  std::uint64_t bytes = 0;           // given by those ranks, of an irregular one
};

struct Matched {
  std::vector<Part> parts;        // meeting after meeting
  std::vector<Meeting> meetings;  // in the order of their begin
  /// The meetings of each rank's calls, in the order of its calls, and its place among `parts`.
  struct Step {
    std::size_t meeting = 0, part = 0;
  };
  std::vector<std::vector<Step>> steps;  // by part of the recording
};

/// What the clocks of different hosts differ by is taken from the calls: none of a collective that
/// all ranks wait in ends before the last of them has come. `node_of`: by part; the clocks of a
/// node are one. They are moved as little as that allows.
Matched match(const Recording& recording, const std::vector<int>& node_of);

/// The ranks for which a member waits in a collective.
enum class WaitsFor : std::uint8_t { all, root, lower, nobody };
WaitsFor waits_for(const RecordedKind& kind, std::uint32_t member);

/// When the last of those has come for whom each of the `members` waits, itself among them. The
/// three are in one order.
std::vector<double> last_arrivals(const RecordedKind& kind, std::span<const std::uint32_t> members,
                                  std::span<const double> arrivals);

}  // namespace weft::mpi
