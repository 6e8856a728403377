// Timelines: of some ranks, in which part of each piece of the run they waited or were in calls.
#pragma once

#include <vector>

#include "mpi/replay/replay.hpp"
#include "mpi/replay/virtual_run.hpp"

namespace weft::mpi {

/// Of ranks at equal distances, at most Replay::kMostTimelines.
std::vector<RankTimeline> timelines(const Recording& recording, const VirtualRun& run);

}  // namespace weft::mpi
