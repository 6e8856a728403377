// The settings that all ranks must share, and what they agree on at the start.
#pragma once

#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/pmpi/report.hpp"
#include "weft/weft.hpp"

namespace weft::pmpi {

struct Agreement {
  bool disabled = false;  // WEFT_DISABLE on any rank
  ReportTarget report;    // as rank 0 asks
  hierarchy::Machine machine;
};

/// Collective. Reads this rank's environment, tells the others, and settles on one answer.
/// UsageError, the same on every rank, when a setting of any rank cannot be followed or when ranks
/// differ where they must not.
Agreement agree(Bootstrap& bootstrap);

}  // namespace weft::pmpi
