// Scaling: what becomes of a program's communicators and of its bytes on a machine of other size.
// docs/replay-elsewhere.md states the same rules for users.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/recording/recording.hpp"

namespace weft::mpi {

enum class Scaling : std::uint8_t {
  none,    // the machine is the one where it was recorded
  weak,    // a rank keeps its part of the work
  strong,  // the job does
};
std::string_view to_string(Scaling scaling);

/// The ranks there of a communicator that had ranks of `here`: all of them where it had all; within
/// a node as large a part of its ranks where it lay within one of several; else as large a part of
/// the job's, at least two, with the stride between neighbours that it had.
std::vector<int> members_there(const RecordedCommunicator& communicator,
                               const hierarchy::Machine& here, const hierarchy::Machine& there);

/// The bytes of a block, or of the vector, where a communicator of `here` ranks has `there`. A
/// whole number of elements, at least one where there were any.
///
///                                   weak                  strong
///   alltoall                        b * here / there      b * (here / there)^2
///   allgather, gather, scatter      b                     b * here / there
///   reduce_scatter                  b * here / there      b * here / there
///   broadcast, reduce, allreduce,   b                     b
///   scan, exscan
std::uint64_t bytes_there(plan::Collective collective, std::uint64_t bytes,
                          std::uint64_t element_bytes, int here, int there, Scaling scaling);

/// What the time between collectives is multiplied by: ranks `here` by ranks `there` in strong
/// scaling, else 1.
double work_there(int here, int there, Scaling scaling);

}  // namespace weft::mpi
