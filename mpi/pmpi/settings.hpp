// The settings that all ranks must share, and what they agree on at the start.
#pragma once

#include <string>
#include <vector>

#include "hierarchy/machine.hpp"
#include "mpi/pmpi/report.hpp"
#include "plan/collective_set.hpp"
#include "weft/weft.hpp"

namespace weft::pmpi {

struct Agreement {
  plan::CollectiveSet disabled;  // WEFT_DISABLE of all ranks together
  ReportTarget report;           // as rank 0 asks
  hierarchy::Machine machine;
};

/// Collective. Reads this rank's environment, tells the others, and settles on one answer.
/// UsageError, the same on every rank, when a setting of any rank cannot be followed or when ranks
/// differ where they must not.
Agreement agree(Bootstrap& bootstrap);

}  // namespace weft::pmpi
