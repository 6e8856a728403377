// Grids of a replay, for its table and its page.
#pragma once

#include <cstddef>

#include "mpi/replay/replay.hpp"
#include "mpi/summary/grid.hpp"

namespace weft::mpi {

/// Recorded and predicted times.
Grid grid_of_times(const Replay& replay);
/// Not more than `most` rows.
Grid grid_of_calls(const Replay& replay, std::size_t most);

}  // namespace weft::mpi
