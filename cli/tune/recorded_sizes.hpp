// Recorded sizes: what a recording of a program says about the calls that a tuning is for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "mpi/recording/recording.hpp"
#include "plan/problem.hpp"

namespace weft::cli {

/// Calls of a rank, the mean of all, by collective and bytes of a block or vector.
using RecordedSizes = std::map<plan::Collective, std::map<std::uint64_t, double>>;

/// Of the calls on communicators of `ranks` for which tables have rules: blocks of one size that is
/// known. Of the sizes between two powers of two that which is called most stands for all.
RecordedSizes recorded_sizes(const mpi::Recording& recording, int ranks);

/// Reads a recording that WEFT_TRACE has written. UsageError or SystemError as for its file;
/// UsageError where it has no such calls.
RecordedSizes load_recorded_sizes(const std::string& path, int ranks);

}  // namespace weft::cli
